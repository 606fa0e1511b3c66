#include "ascendsim/acl/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "acl/ops/acl_cblas.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

// Without this, halves would lose their infinities, subnormals or rounding on the way through the host.
TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const float value = aclFloat16ToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(value))));
    } else {
      ASSERT_EQ(aclFloatToFloat16(value), half) << bits;
    }
  }
  EXPECT_EQ(aclFloatToFloat16(65519.0F), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65520.0F), 0x7C00) << "rounds to infinity";
  EXPECT_EQ(aclFloatToFloat16(1.0F + 0x1p-11F), 0x3C00) << "a tie goes to even";
  EXPECT_EQ(aclFloatToFloat16(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(aclFloatToFloat16(0x1p-25F), 0x0000);
  EXPECT_EQ(aclFloatToFloat16(0x1.8p-25F), 0x0001);
  EXPECT_EQ(aclFloatToFloat16(-0x1p-24F), 0x8001);
}

struct Shape {
  int m, n, k;
  bool transpose_a, transpose_b;
  int extra;  // elements of padding at the end of every stored row
};

// Device memory with the given floats, as halves or floats.
void* upload(const std::vector<float>& values, aclDataType type) {
  std::vector<unsigned char> bytes(values.size() * aclDataTypeSize(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == ACL_FLOAT) {
      std::memcpy(bytes.data() + i * 4, &values[i], 4);
    } else {
      const aclFloat16 half = aclFloatToFloat16(values[i]);
      std::memcpy(bytes.data() + i * 2, &half, 2);
    }
  }
  void* device = nullptr;
  EXPECT_EQ(aclrtMalloc(&device, bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(device, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_SUCCESS);
  return device;
}

std::vector<float> download(const void* device, std::size_t count, aclDataType type) {
  std::vector<unsigned char> bytes(count * aclDataTypeSize(type));
  EXPECT_EQ(aclrtMemcpy(bytes.data(), bytes.size(), device, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (type == ACL_FLOAT) {
      std::memcpy(&values[i], bytes.data() + i * 4, 4);
    } else {
      aclFloat16 half = 0;
      std::memcpy(&half, bytes.data() + i * 2, 2);
      values[i] = aclFloat16ToFloat(half);
    }
  }
  return values;
}

std::vector<float> pattern(std::size_t count, unsigned salt) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7 + salt) % 13) / 4.0F - 1.5F;
  return values;
}

void check_product(const Shape& shape, aclDataType in, aclDataType out) {
  const auto m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n);
  const auto k = static_cast<std::size_t>(shape.k);
  const auto extra = static_cast<std::size_t>(shape.extra);
  const std::size_t lda = (shape.transpose_a ? m : k) + extra;
  const std::size_t ldb = (shape.transpose_b ? k : n) + extra;
  const std::size_t ldc = n + extra;
  const auto a = pattern(lda * (shape.transpose_a ? k : m), 1);
  const auto b = pattern(ldb * (shape.transpose_b ? n : k), 5);
  const auto c = pattern(ldc * m, 9);
  const float alpha = 0.5F;
  const float beta = 2.0F;
  void* device_c = upload(c, out);
  const auto leading = [&](std::size_t value) { return shape.extra == 0 ? -1 : static_cast<int>(value); };
  ASSERT_EQ(
      aclblasGemmEx(shape.transpose_a ? ACL_TRANS_T : ACL_TRANS_N,
                    shape.transpose_b ? ACL_TRANS_T : ACL_TRANS_N, ACL_TRANS_N, shape.m, shape.n, shape.k,
                    upload({alpha}, out), upload(a, in), leading(lda), in, upload(b, in), leading(ldb), in,
                    upload({beta}, out), device_c, leading(ldc), out, ACL_COMPUTE_HIGH_PRECISION, nullptr),
      ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  const auto got = download(device_c, c.size(), out);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) {
        const float left = shape.transpose_a ? a[p * lda + row] : a[row * lda + p];
        const float right = shape.transpose_b ? b[column * ldb + p] : b[p * ldb + column];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      const double want = 0.5 * sum + 2.0 * static_cast<double>(c[row * ldc + column]);
      ASSERT_NEAR(static_cast<double>(got[row * ldc + column]), want, 1e-3 * std::max(1.0, std::fabs(want)))
          << "row " << row << " column " << column;
    }
    for (std::size_t column = n; column < ldc; ++column) {
      ASSERT_EQ(got[row * ldc + column], c[row * ldc + column]) << "padding was written";
    }
  }
}

// Without this, the one real computation of the machine could be wrong for some shape, type or layout.
TEST(Gemm, MatchesTheHost) {
  const SimulatedMachine machine;
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (const Shape& shape : {Shape{1, 1, 1, false, false, 0}, Shape{33, 65, 129, false, false, 0},
                               Shape{70, 50, 30, true, false, 0}, Shape{70, 50, 30, false, true, 3},
                               Shape{40, 130, 200, true, true, 5}, Shape{64, 64, 256, false, false, 1}}) {
      check_product(shape, ACL_FLOAT16, ACL_FLOAT16);
      check_product(shape, ACL_FLOAT16, ACL_FLOAT);
      check_product(shape, ACL_FLOAT, ACL_FLOAT);
    }
  });
}

// Without this, wrong arguments would crash the program, or corrupt its memory, instead of returning a code.
TEST(Gemm, RefusesWhatItCannotDo) {
  const SimulatedMachine machine;
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* data = upload(std::vector<float>(1024), ACL_FLOAT);  // one page
    const auto call = [&](aclTransType a, aclTransType c, int m, int k, const void* alpha, int lda,
                          aclDataType type) {
      return aclblasGemmEx(a, ACL_TRANS_N, c, m, 4, k, alpha, data, lda, type, data, -1, type, data, data, -1,
                           type, ACL_COMPUTE_HIGH_PRECISION, nullptr);
    };
    const float host_alpha = 1.0F;
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 4, 4, data, -1, ACL_FLOAT), ACL_SUCCESS);
    EXPECT_EQ(call(ACL_TRANS_NZ, ACL_TRANS_N, 4, 4, data, -1, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_T, 4, 4, data, -1, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 0, 4, data, -1, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 4, 4, nullptr, -1, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 4, 4, &host_alpha, -1, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 4, 4, data, 3, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 1 << 30, 4, data, -1, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(call(ACL_TRANS_N, ACL_TRANS_N, 4, 4, data, -1, ACL_INT8), ACL_ERROR_UNSUPPORTED_DATA_TYPE);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  });
}

// Without this, large sweeps would cost real arithmetic, or "sample" would compute nothing.
TEST(Gemm, ComputeModes) {
  std::vector<float> ones(1024UL * 4, 1.0F);
  std::vector<float> c(1024UL * 4, -1.0F);
  const float one = 1.0F;
  const float zero = 0.0F;
  const Gemm gemm{1024,
                  4,
                  4,
                  {ones.data(), 4, false, Element::kFloat},
                  {ones.data(), 4, false, Element::kFloat},
                  &one,
                  &zero,
                  c.data(),
                  4,
                  Element::kFloat};
  compute_gemm(gemm, ComputeMode::kNone);
  EXPECT_EQ(c, std::vector<float>(1024UL * 4, -1.0F));
  compute_gemm(gemm, ComputeMode::kSample);
  EXPECT_EQ(c[0], 4.0F);
  EXPECT_EQ(c[31UL * 4], 4.0F);
  EXPECT_EQ(c[32UL * 4], -1.0F);
  EXPECT_EQ(c[512UL * 4], 4.0F);
  compute_gemm(gemm, ComputeMode::kFull);
  EXPECT_EQ(c, std::vector<float>(1024UL * 4, 4.0F));
}

// Without this, the program that the README runs could be broken.
TEST(Gemm, ExampleProgram) {
  const SimulatedMachine machine;
  const std::string program = "LD_LIBRARY_PATH=" + machine.library_folder() + " " EXAMPLE_GEMM;
  const CommandResult good = run_command(program + " --size 96 --repeat 2 --memory 1GiB");
  EXPECT_EQ(good.status, 0) << good.output;
  EXPECT_NE(good.output.find("gemm: device 0 of 8, Ascend910B4, 29696 of 29696 MiB free"), std::string::npos)
      << good.output;
  EXPECT_NE(good.output.find("gemm: OK max error"), std::string::npos) << good.output;
  EXPECT_EQ(run_command(program + " --size 64 --type fp32").status, 0);
  EXPECT_EQ(run_command(program + " --size many").status, 2);
  const CommandResult wrong = run_command("ASCENDSIM_COMPUTE=none " + program + " --size 64");
  EXPECT_EQ(wrong.status, 1) << "an uncomputed result must not pass";
  EXPECT_NE(wrong.output.find("gemm: WRONG"), std::string::npos) << wrong.output;
  const CommandResult greedy = run_command(program + " --memory 100GiB");
  EXPECT_EQ(greedy.status, 1);
  EXPECT_NE(greedy.output.find("207001"), std::string::npos) << greedy.output;
}

}  // namespace
}  // namespace ascendsim
