#include "ascendsim/daemon/machine.h"

#include <gtest/gtest.h>

#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string problem_of(const std::string& yaml) {
  const auto machine = parse_machine(yaml, "m.yaml");
  return machine ? "accepted" : machine.error();
}

// Without this, ascendsimd could not start on its own compiled-in description.
TEST(Machine, DefaultIsEightChipsOfThirtyTwoGibibytes) {
  const auto machine = parse_machine(std::string(default_machine_yaml()), "built-in");
  ASSERT_TRUE(machine) << machine.error();
  ASSERT_EQ(machine->npus.size(), 8U);
  EXPECT_EQ(machine->npus[7].phy_id, 7U);
  EXPECT_EQ(machine->npus[0].model.chip_name, "910B4");
  EXPECT_EQ(machine->npus[0].model.ai_cores, 20U);
  EXPECT_EQ(machine->npus[0].model.memory_bytes, std::uint64_t{32768} << 20);
  EXPECT_GT(machine->npus[0].model.memory_bytes_system, 0U);
}

// Without this, whoever wrote a wrong description would have to guess where and what.
TEST(Machine, ProblemsNameLineFieldAndValue) {
  const std::string good = slow_machine_yaml();
  EXPECT_EQ(problem_of(good), "accepted");
  EXPECT_EQ(problem_of(replaced(good, "ai_cores: 20", "ai_cores: -2")),
            "m.yaml:8: chips.slow.ai_cores: '-2' is not a whole number from 1 to 256");
  EXPECT_EQ(problem_of(replaced(good, "compute: full", "compute: fast")),
            "m.yaml:2: compute: 'fast' is not one of full, sample, none");
  EXPECT_EQ(problem_of(replaced(good, "ai_cores: 20", "ai_core: 20")),
            "m.yaml:8: chips.slow.ai_core: no such field");
  EXPECT_EQ(problem_of(replaced(good, "card: 5", "card: 4")),
            "m.yaml:23: npus[1].card: card 4 has chip 0 twice: give it another chip_id");
  EXPECT_EQ(problem_of(replaced(good, "chip: slow", "chip: fast")),
            "m.yaml:22: npus[0].chip: 'fast' is not described under chips");
  EXPECT_EQ(problem_of(replaced(good, "0000:C1:00.0", "C1:00")),
            "m.yaml:22: npus[0].pci: 'C1:00' is not an address like 0000:C1:00.0");
  EXPECT_EQ(problem_of(replaced(good, "memory_system_mib: 24", "memory_system_mib: 1024")),
            "m.yaml:14: chips.slow.memory_system_mib: must be less than memory_mib");
  EXPECT_EQ(problem_of("npus: [1, 2"), "m.yaml:1: end of sequence flow not found");
  EXPECT_EQ(problem_of("just text"), "m.yaml:1: description: must be a mapping");
}

// Without this, a missing field or an overflowing number would become a zero.
TEST(Machine, RefusesWhatIsMissingOrTooLarge) {
  const std::string good = slow_machine_yaml();
  EXPECT_NE(problem_of(replaced(good, "    l2_mib: 96\n", "")).find("chips.slow.l2_mib: is missing"),
            std::string::npos);
  EXPECT_NE(problem_of(replaced(good, "memory_mib: 1024", "memory_mib: 99999999999999999999"))
                .find("is not a whole"),
            std::string::npos);
  EXPECT_NE(problem_of(std::string(2 << 20, ' ')).find("larger than 1 MiB"), std::string::npos);
  EXPECT_NE(problem_of("").find("must be a mapping"), std::string::npos);
}

// Without this, ascendsimd could start on a wrong description, or say nothing about why it does not.
TEST(Machine, ProgramRefusesABadDescription) {
  const CommandResult result =
      run_command("printf 'npus: nonsense\\n' > /tmp/ascendsim-bad-$$.yaml; " ASCENDSIMD
                  " --root /tmp/ascendsim-bad-root --machine /tmp/ascendsim-bad-$$.yaml; s=$?; rm "
                  "/tmp/ascendsim-bad-$$.yaml; exit $s");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.output.find(".yaml:1: driver_version: is missing"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace ascendsim
