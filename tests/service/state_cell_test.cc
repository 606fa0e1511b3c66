// Copies for long questions: of one instant, and shared by those who ask while nothing changes.
#include "service/state_cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tangram::service::testing {
namespace {

void put_tenant(StateCell& cell, std::uint32_t id) {
  const std::array<wire::JournalRecord, 1> records{
      wire::TenantPutRecord{{TenantId(id), {"t-" + std::to_string(id), "", {}}}, {}}};
  cell.apply(records, TimeMs(1));
}

std::shared_ptr<const Scheduler> core_of(const StateCell& cell) {
  return cell.read_with_core([](const State&, const auto& copy_core) { return copy_core(); });
}

// Without it a burst of `why` would copy the core once for each of them, under the lock that the writer
// needs.
TEST(StateCellTest, AskersShareACopyWhileNothingChanges) {
  StateCell cell;
  put_tenant(cell, 0);
  const auto first = core_of(cell);
  EXPECT_EQ(core_of(cell), first);
  cell.read_with_core([](const State&, const auto& /*copy_core*/) {});
  EXPECT_EQ(core_of(cell), first);
}

// Without it an answer would mix two instants, or be about a state that is long over.
TEST(StateCellTest, ACopyOfTheCoreIsThatOfItsInstant) {
  StateCell cell;
  put_tenant(cell, 0);
  const auto before = core_of(cell);
  put_tenant(cell, 1);
  EXPECT_EQ(before->tenant_count(), 1U);
  cell.read_with_core([](const State& state, const auto& copy_core) {
    EXPECT_EQ(copy_core()->to_bytes(), state.core().to_bytes());
  });
  EXPECT_EQ(core_of(cell)->tenant_count(), 2U);
  cell.replace(State());
  EXPECT_EQ(core_of(cell)->tenant_count(), 0U) << "whatever version the new state has";
}

// Without it the memory of each copy would come from the kernel anew, page by page, under the lock.
TEST(StateCellTest, ACopyThatNobodyReadsGivesItsMemoryToTheNext) {
  StateCell cell;
  put_tenant(cell, 0);
  const Scheduler* const first = core_of(cell).get();
  put_tenant(cell, 1);
  auto second = core_of(cell);
  EXPECT_EQ(second.get(), first);
  EXPECT_EQ(second->tenant_count(), 2U);
  put_tenant(cell, 2);
  EXPECT_EQ(core_of(cell)->tenant_count(), 3U);
  EXPECT_EQ(second->tenant_count(), 2U) << "it is still read";
  cell.replace(State());
  second.reset();
  EXPECT_EQ(core_of(cell)->tenant_count(), 0U);
}

// Without it whoever reads piece after piece would have the lock again before the writer has woken up, and
// the writer would wait for all the pieces.
TEST(StateCellTest, WhoReadsAgainComesBehindTheWriter) {
  StateCell cell;
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    while (!stop) {
      cell.read([&](const State&) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (std::chrono::steady_clock::now() < end) {
        }
        ++reads;
      });
    }
  });
  std::vector<int> waited;
  for (std::uint32_t i = 0; i < 21; ++i) {
    const int before = reads;
    put_tenant(cell, i);
    waited.push_back(reads - before);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop = true;
  reader.join();
  // The median: a thread may always lose its processor for a while.
  std::nth_element(waited.begin(), waited.begin() + 10, waited.end());
  EXPECT_LE(waited[10], 3);
}

}  // namespace
}  // namespace tangram::service::testing
