"""Article A's C++ snippets stand in examples/article_a/snippets as printed, run on the simulated machine, and show what
docs/articles.md says of them."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

SNIPPETS = harness.SOURCE / "examples/article_a/snippets"
DIGESTS = harness.SOURCE / "tests/data/articles/printed_a.sha256"
BEGIN, END = "// clang-format off: as printed", "// clang-format on"
# What was filled in where the article leaves something out.
ELISIONS = {"q4_batch.cc": " PARAMS_FOR_BATCH(i)"}


def printed_part(path):
    """The lines between the marks without their common indentation."""
    text = path.read_text()
    part = text.split(BEGIN + "\n")[1].split("\n" + textwrap.indent(END, re.search(r"( *)" + BEGIN, text).group(1)))[0]
    part = part.replace(ELISIONS.get(path.name, "\0"), "")
    return "\n".join(line.rstrip() for line in textwrap.dedent(part).splitlines()) + "\n"


class AsPrinted(unittest.TestCase):
    def test_every_snippet_is_as_printed(self):
        """Without it a repair or a formatter could change what the article prints, and "runs as printed" would be untrue."""
        wanted = dict(reversed(line.split()) for line in DIGESTS.read_text().splitlines())
        self.assertEqual(sorted(path.name for path in SNIPPETS.glob("*.cc")), sorted(wanted))
        for name, digest in wanted.items():
            with self.subTest(name):
                self.assertEqual(hashlib.sha256(printed_part(SNIPPETS / name).encode()).hexdigest(), digest)

    def test_every_snippet_names_its_heading(self):
        """Without it a reader of a snippet would not find its place in the article."""
        headings = (harness.SOURCE / "tests/data/articles/headings_a.txt").read_text().splitlines()
        for path in SNIPPETS.glob("*.cc"):
            with self.subTest(path.name):
                first = path.read_text().splitlines()[0]
                self.assertTrue(any(first.startswith(f"// Article A, {heading} (") for heading in headings), first)


class CompatHeader(unittest.TestCase):
    """examples/article_a/compat.h beside the vendor's headers."""

    def compile(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "one.cc"
            source.write_text(text)
            return subprocess.run(
                [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
                 "-Wconversion", "-Wold-style-cast", "-Werror", "-I", str(harness.SOURCE / "examples"), "-I",
                 str(harness.SOURCE / "src/ascendsim/include"), str(source)], capture_output=True, text=True, check=False)

    def test_compiles_alone(self):
        """Without it the header would work only behind others that happen to come first."""
        done = self.compile('#include "article_a/compat.h"\n')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_stands_beside_a_newer_interface(self):
        """Without it the article's names would clash with those that AscendCL 9 gave to something else."""
        done = self.compile("typedef enum { ACL_STREAM_ATTR_FAILURE_MODE = 1, ACL_STREAM_ATTR_PRIORITY = 5 } aclrtStreamAttr;\n"
                            '#include "article_a/compat.h"\n'
                            "aclError make(aclrtStream* stream) {\n  aclrtStreamAttr attr;\n"
                            "  aclrtInitStreamAttr(&attr, ACL_STREAM_ATTR_PRIORITY);\n"
                            "  aclrtSetStreamAttrPriority(&attr, 5);\n  return aclrtCreateStreamWithAttr(stream, &attr);\n}\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_priorities_map_to_three_classes(self):
        """Without it 5 could become one of AscendCL's priorities that it calls high or low."""
        done = self.compile('#include "article_a/compat.h"\nusing namespace article_a;\n'
                            "static_assert(stream_priority(0) == 0 && stream_priority(10) == 7);\n"
                            "static_assert(priority_class(stream_priority(0)) == PriorityClass::kHigh);\n"
                            "static_assert(priority_class(stream_priority(5)) == PriorityClass::kNormal);\n"
                            "static_assert(priority_class(stream_priority(10)) == PriorityClass::kLow);\n")
        self.assertEqual(done.returncode, 0, done.stderr)


class OnTheMachine(unittest.TestCase):
    """Each snippet, run by the test itself on the simulated machine."""

    def setUp(self):
        self.machine = harness.Machine()
        self.addCleanup(self.machine.stop)
        self.machine.start_simulator()

    def start(self, name, *arguments):
        return subprocess.Popen([harness.program(name), *map(str, arguments)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={"LD_LIBRARY_PATH": str(self.machine.driver_dir / "lib64")},
                                preexec_fn=harness.die_with_parent)

    def finish(self, program, code=0, say=""):
        out, err = program.communicate(say, timeout=120)
        self.assertEqual((program.returncode, err), (code, ""), out + err)
        return out.splitlines()

    def run_snippet(self, name, *arguments, code=0):
        return self.finish(self.start(f"article_a/{name}", *arguments), code)

    def test_1_1_context(self):
        """Without it a process could not make a context of its own on the device that it names."""
        self.assertEqual(self.run_snippet("1_1_context", 3), [
            "the new context is current: yes", "it is on device 3, and not the device's default context: yes"])

    def test_1_1_processes_share_a_device(self):
        """Without it each process would seem to have all of an NPU's memory, though another holds some of it."""
        holder = self.start("gemm", "--memory", "2GiB", "--hold", "600")
        self.addCleanup(holder.kill)
        while "holding" not in holder.stdout.readline():
            self.assertIsNone(holder.poll())
        used = re.search(r"已用: (\d+) MB", self.run_snippet("3_3_watermark")[0])
        self.assertGreaterEqual(int(used.group(1)), 2048)
        holder.kill()
        holder.communicate()
        self.machine.wait_until(lambda: "已用: 0 MB" in self.run_snippet("3_3_watermark")[0], "its memory is back")

    def test_1_2_stream(self):
        """Without it the product of the article's call could be wrong, or not be there when the stream has been awaited."""
        self.assertEqual(self.run_snippet("1_2_stream"), ["4 6 20", "12 14 52"])

    def test_1_3_memory(self):
        """Without it the article's allocation and copy could fail, or what it frees not come back."""
        # 1 GiB and the driver's padding, in pages of 2 MiB.
        self.assertEqual(self.run_snippet("1_3_memory"), ["device memory held: at most 1026 MiB, now 0 MiB"])

    def test_2_1_priorities(self):
        """Without it the article's three priorities would be numbers without effect."""
        self.assertEqual(self.run_snippet("2_1_priorities"), [
            "high_priority_stream: priority 0, high", "normal_stream: priority 3, normal",
            "low_priority_stream: priority 7, low", "priorities 11 and -1 are refused: yes",
            "served: high_priority_stream, normal_stream, low_priority_stream"])

    def test_3_1_contexts(self):
        """Without it the documentation could repeat what the article says wrongly: that contexts isolate memory."""
        self.assertEqual(self.run_snippet("3_1_contexts"), [
            "held under both contexts: 3076 MiB", "ptr_a under ctx_b: written under ctx_a"])

    def test_3_2_quota(self):
        """Without it the article's quota check could let a tenant pass its quota, or say other numbers than it prints."""
        self.assertEqual(self.run_snippet("3_2_quota"), [
            "tenant 7, 1024 MB: 0, memory; used 1024 MB; in its context: yes",
            "tenant 8, 2048 MB: 0, memory; used 2048 MB; in its context: yes",
            "tenant 7, 512 MB: 0, memory; used 1536 MB; in its context: yes",
            "[拒绝] 租户 7 显存不足：请求 1 MB，已用 1536 MB，配额 1536 MB",
            "tenant 7, 1 MB: 500001, nothing; used 1536 MB; in its context: yes",
            "tenant 8, 32768 MB: 207001, nothing; used 2048 MB; in its context: yes"])

    def test_3_3_watermark(self):
        """Without it the alarm could come at another mark than 85 %, or numbers not add up."""
        self.assertEqual(self.run_snippet("3_3_watermark"), ["[显存监控] 总量: 29696 MB, 已用: 0 MB, 可用: 29696 MB"])
        # 85 % of 29696 MB are 25241.6 MB; memory is taken in pages of 2 MiB.
        self.assertEqual(self.run_snippet("3_3_watermark", 25240), [
            "[显存监控] 总量: 29696 MB, 已用: 25240 MB, 可用: 4456 MB"])
        self.assertEqual(self.run_snippet("3_3_watermark", 25244), [
            "[显存监控] 总量: 29696 MB, 已用: 25244 MB, 可用: 4452 MB",
            "[告警] 显存使用率 85.0%，建议释放非必要缓存"])

    def test_5_1_device_status(self):
        """Without it a sick device would be described as if it were well, and no failover begin."""
        self.assertEqual(self.run_snippet("5_1_device_status", 2), [
            "[正常] 设备 2: Ascend910B4, AI Core 数: 20, 显存: 29696 MB"])
        failed = ["[故障] 设备 2 状态异常，错误码: 507010", "failover of device 2"]
        for fault in (("health", 2, "critical"), ("remove", 2)):
            with self.subTest(fault):
                self.machine.simulator_ctl(*fault)
                self.assertEqual(self.run_snippet("5_1_device_status", 2, code=1), failed)
        self.machine.simulator_ctl("return", 2)
        self.assertIn("[正常]", self.run_snippet("5_1_device_status", 2)[0])

    def test_5_2_failover(self):
        """Without it work that a lost device did not finish could be forgotten, done twice, or put on another sick one."""
        self.machine.simulator_ctl("health", 1, "critical")
        program = self.start("article_a/5_2_failover")
        self.assertEqual(program.stdout.readline(), "ready\n")
        self.machine.simulator_ctl("remove", 0)
        lines = self.finish(program, say="go\n")
        self.assertEqual(lines[0], "[故障处理] 设备 0 发生故障，开始转移")
        self.assertEqual(sorted(lines[1:3]), ["1 of 1 tasks submitted again, on device 2",
                                              "2 of 3 tasks submitted again, on device 2"])
        self.assertEqual(lines[3:], ["device 0 gets no more work", "failure of device 0 logged",
                                     "alert: 设备故障, device 0", "3 products are right"])

    def test_q3_commands(self):
        """Without it the documentation could promise the article's npu-smi commands although the tool has none such."""
        def npu_smi(*words):
            return subprocess.run([str(self.machine.driver_dir / "tools/npu-smi"), *words], capture_output=True, text=True,
                                  check=False)
        for shown in ("910B4", "Health", "Temp(C)", "AICore(%)", "HBM-Usage(MB)"):
            self.assertIn(shown, npu_smi("info").stdout)
        board = npu_smi("info", "-t", "board", "-i", "0")
        self.assertEqual(board.returncode, 0)
        self.assertRegex(board.stdout, r"NPU ID +: 0\n[^$]*Model +: 910B4")
        # The tool wants to know of which NPU.
        process = npu_smi("info", "-t", "proc")
        self.assertIn("Must input parameter of -i.", process.stdout)
        self.assertNotEqual(process.returncode, 0)
        for kind in ("proc", "proc-mem"):
            self.assertEqual(npu_smi("info", "-t", kind, "-i", "0", "-c", "0").stdout, "\tNo process in device.\n")

    def test_q4_batch(self):
        """Without it one wait at the end could return before all of the batch is done."""
        self.assertEqual(self.run_snippet("q4_batch"), ["16 of 16 products are right"])


if __name__ == "__main__":
    unittest.main()
