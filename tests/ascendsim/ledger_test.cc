#include "ascendsim/daemon/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ascendsim {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

// Without this, the ledger would be below the driver's truth: it counts pages, not bytes.
TEST(Ledger, ChargesWholePages) {
  Ledger ledger({4096 * kMiB});
  AllocateReply reply{};
  ASSERT_EQ(ledger.allocate(1, 0, 1, PageSize::k4KiB, &reply), Status::kOk);
  EXPECT_EQ(reply.bytes_charged, 4096U);
  ASSERT_EQ(ledger.allocate(1, 0, 2 * kMiB + 1, PageSize::k2MiB, &reply), Status::kOk);
  EXPECT_EQ(reply.bytes_charged, 4 * kMiB);
  ASSERT_EQ(ledger.allocate(1, 0, 1, PageSize::k1GiB, &reply), Status::kOk);
  EXPECT_EQ(reply.bytes_charged, 1024 * kMiB);
  EXPECT_EQ(ledger.used(0), 1028 * kMiB + 4096);
}

// Without this, a program could hold more than there is, by size, by rounding up, or by a number that wraps.
TEST(Ledger, NeverGivesMoreThanThereIs) {
  Ledger ledger({10 * kMiB});
  AllocateReply reply{};
  EXPECT_EQ(ledger.allocate(1, 0, 10 * kMiB + 1, PageSize::k4KiB, &reply), Status::kOutOfMemory);
  EXPECT_EQ(ledger.allocate(1, 0, ~std::uint64_t{0}, PageSize::k2MiB, &reply), Status::kOutOfMemory);
  ASSERT_EQ(ledger.allocate(1, 0, 9 * kMiB, PageSize::k4KiB, &reply), Status::kOk);
  EXPECT_EQ(ledger.allocate(1, 0, 1, PageSize::k2MiB, &reply), Status::kOutOfMemory);
  EXPECT_EQ(ledger.allocate(1, 0, kMiB, PageSize::k4KiB, &reply), Status::kOk);
  EXPECT_EQ(ledger.used(0), 10 * kMiB);
}

// Without this, one program could free, or be charged for, what belongs to another.
TEST(Ledger, HandlesBelongToTheirClient) {
  Ledger ledger({100 * kMiB});
  AllocateReply reply{};
  ASSERT_EQ(ledger.allocate(1, 0, kMiB, PageSize::k4KiB, &reply), Status::kOk);
  EXPECT_EQ(ledger.free(2, reply.allocation), Status::kInvalid);
  EXPECT_EQ(ledger.free(1, reply.allocation + 1), Status::kInvalid);
  EXPECT_EQ(ledger.free(1, reply.allocation), Status::kOk);
  EXPECT_EQ(ledger.free(1, reply.allocation), Status::kInvalid);
  EXPECT_EQ(ledger.allocate(1, 0, 0, PageSize::k4KiB, &reply), Status::kInvalid);
  EXPECT_EQ(ledger.allocate(1, 0, 1, static_cast<PageSize>(9), &reply), Status::kInvalid);
}

// Without this, memory would leak away as programs come, reset a device and die.
TEST(Ledger, ChargesAndRefundsBalance) {
  std::mt19937_64 random(20240611);
  Ledger ledger({64 * kMiB, 64 * kMiB});
  std::vector<std::pair<ClientId, std::uint64_t>> held;
  for (int step = 0; step < 20000; ++step) {
    const ClientId client = random() % 5 + 1;
    const auto npu = static_cast<std::uint32_t>(random() % 2);
    const std::uint64_t choice = random() % 100;
    AllocateReply reply{};
    if (choice < 60) {
      const auto page = random() % 2 == 0 ? PageSize::k4KiB : PageSize::k2MiB;
      if (ledger.allocate(client, npu, random() % (4 * kMiB) + 1, page, &reply) == Status::kOk) {
        held.emplace_back(client, reply.allocation);
      }
    } else if (choice < 95 && !held.empty()) {
      const auto [owner, allocation] = held[random() % held.size()];
      ledger.free(owner, allocation);
    } else if (choice < 98) {
      ledger.release_npu(client, npu);
    } else {
      ledger.release(client);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      std::uint64_t sum = 0;
      for (ClientId id = 1; id <= 5; ++id) sum += ledger.use(id, i).bytes;
      ASSERT_EQ(sum, ledger.used(i)) << "step " << step;
      ASSERT_LE(ledger.used(i), ledger.usable(i));
    }
  }
  for (ClientId id = 1; id <= 5; ++id) ledger.release(id);
  EXPECT_EQ(ledger.used(0), 0U);
  EXPECT_EQ(ledger.used(1), 0U);
}

}  // namespace
}  // namespace ascendsim
