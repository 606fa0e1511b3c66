// Copies for long questions: of one instant, and shared by those who ask while nothing changes.
#include "service/state_cell.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

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

}  // namespace
}  // namespace tangram::service::testing
