"""tools/check_tree.py must be able to fail: each test plants one fault in a small sound tree and expects it to be found."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools/check_tree.py"

SOUND = {
    "src/base/CMakeLists.txt": "tangram_folder(base SOURCES error.cc log.cc)\n",
    "src/base/error.h": "#pragma once\n#include <string>\nstruct Error { std::string text; };\n",
    "src/base/error.cc": '#include "base/error.h"\n',
    "src/base/log.h": "#pragma once\nvoid log_line(const char* text);\n",
    "src/base/log.cc": '#include "base/log.h"\n',
    "src/model/CMakeLists.txt": "tangram_folder(model SOURCES names.cc DEPS tangram::base)\n",
    "src/model/job.h": '#pragma once\n#include "base/error.h"\nstruct Job { Error error; };\n',
    "src/model/names.cc":
        '#include "model/job.h"\n// no float here, and time() only in a comment\nconst char* name() { return "double"; }\n'
        'const char* token(ReasonCode code) {\n  switch (code) {\n    case ReasonCode::kBusy: return "npus.busy";\n  }\n}\n',
    "src/journal/CMakeLists.txt": "tangram_folder(journal SOURCES journal.cc DEPS tangram::base)\n",
    "src/journal/journal.cc": '#include "base/error.h"\nint open_it() {\n  return 1;\n}\n',
    "src/wire/CMakeLists.txt": "tangram_folder(wire SOURCES reason_catalogue.cc)\n",
    "src/wire/reason_catalogue.cc":
        '#include "model/job.h"\nconst char* texts[] = {"npus.busy", "job.unknown"};\n'
        'auto refuse() { return fail(Code::kNotFound, "job.unknown", "no such job"); }\n',
    "src/service/CMakeLists.txt": "tangram_folder(service SOURCES service.cc)\n",
    "src/service/service.cc": '#include "model/job.h"\n',
    "src/server/CMakeLists.txt": "tangram_folder(server SOURCES server.cc)\n",
    "src/server/server.cc": '#include "base/error.h"\n',
    "src/ascendsim/CMakeLists.txt": "add_executable(simd main.cc)\n",
    "src/ascendsim/main.cc": "int main() { return 0; }\n",
    "docs/a.md": "# A title\n\n[b](b.md#the-heading) `[no](link)` [self](#a-title)\n",
    "docs/b.md": "## The heading\n",
}
for folder in ("base", "model", "journal", "wire", "service", "server", "ascendsim"):
    SOUND[f"tests/{folder}/CMakeLists.txt"] = f"tangram_test({folder} SOURCES one_test.cc)\n"
    SOUND[f"tests/{folder}/one_test.cc"] = '#include "base/log.h"\n// Without this, nothing.\nTEST(One, Two) {}\n'


class CheckTree(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for path, text in SOUND.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def append(self, path, text):
        with (self.root / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, *options):
        run = subprocess.run([sys.executable, str(TOOL), "--root", str(self.root), *options], capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def expect(self, rule, path, message):
        status, output = self.run_tool("--only", rule)
        self.assertEqual(status, 1, output)
        hits = [line for line in output.splitlines() if line.startswith(f"{path}:") and f" {rule}: " in line]
        self.assertTrue(any(message in line for line in hits), output)

    def test_a_sound_tree_has_no_findings(self):
        """Without this, a rule that always cries would pass all tests below."""
        status, output = self.run_tool()
        self.assertEqual((status, output.count("\n")), (0, 1), output)

    def test_forbidden_includes(self):
        """Without this, a folder could come to know what lies below it."""
        cases = [
            ("src/base/error.cc", "model/job.h", "base may not include model"),
            ("src/model/names.cc", "base/log.h", "the core may not include base/log.h"),
            ("src/model/names.cc", "journal/journal.h", "model may not include journal"),
            ("src/journal/journal.cc", "service/service.h", "journal may not include service"),
            ("src/service/service.cc", "journal/journal.h", "service may not include journal"),
            ("src/server/server.cc", "model/job.h", "server may not include model"),
            ("src/ascendsim/main.cc", "base/error.h", "ascendsim shares nothing"),
            ("src/service/service.cc", "ascendsim/x.h", "must not know ascendsim"),
            ("src/service/service.cc", "nowhere/x.h", "there is no src/nowhere"),
            ("src/service/service.cc", "service.h", "with its folder"),
        ]
        for path, name, message in cases:
            with self.subTest(path=path, name=name):
                self.write(path, SOUND[path] + f'#include "{name}"\n')
                self.expect("includes", path, message)
                self.write(path, SOUND[path])
        self.append("src/service/service.cc", "#include <model>\n")  # a header of the standard may be called like a folder
        self.assertEqual(self.run_tool("--only", "includes")[0], 0)
        self.append("src/service/service.cc", "#include <base/error.h>\n")
        self.expect("includes", "src/service/service.cc", 'write "base/error.h"')

    def test_a_folder_without_a_place(self):
        """Without this, a new folder would escape the order."""
        self.write("src/misc/x.cc", "")
        self.expect("includes", "src/misc/x.cc", "no place in the order")

    def test_only_the_node_agent_reaches_devices(self):
        """Without this, an exception for one folder could open its whole parent."""
        self.write("src/device/device.h", "#pragma once\n")
        self.write("src/kube/node/a.cc", '#include "device/device.h"\n')
        self.write("src/kube/api/b.cc", '#include "device/device.h"\n')
        self.expect("includes", "src/kube/api/b.cc", "kube may not include device")
        self.assertNotIn("kube/node", self.run_tool("--only", "includes")[1])

    def test_of_the_cluster_only_the_manager_drives_the_core(self):
        """Without this, the core could be called from two places, each with a state of its own."""
        self.write("src/scheduler/s.h", "#pragma once\n")
        self.write("src/kube/manager/a.cc", '#include "scheduler/s.h"\n')
        self.write("src/kube/extender/b.cc", '#include "scheduler/s.h"\n')
        self.expect("includes", "src/kube/extender/b.cc", "kube may not include scheduler")
        self.assertNotIn("kube/manager", self.run_tool("--only", "includes")[1])

    def test_the_parts_of_a_folder_have_an_order(self):
        """Without this, the API client could come to know the manager that is built on it."""
        self.write("src/kube/node/a.cc", '#include "kube/api/b.h"\n')
        self.write("src/kube/api/b.h", "#pragma once\n")
        self.write("src/kube/api/b.cc", '#include "kube/api/b.h"\n')
        self.assertEqual(self.run_tool("--only", "includes")[0], 0)
        self.append("src/kube/api/b.cc", '#include "kube/node/c.h"\n')
        self.expect("includes", "src/kube/api/b.cc", "kube/api may not include what is built on it")

    def test_the_core_stays_pure(self):
        """Without this, a decision could depend on a clock, on luck, on rounding, or on hash order."""
        for text, message in [
            ("#include <chrono>", "<chrono>"), ("#include <fstream>", "<fstream>"), ("#include <thread>", "<thread>"),
            ("#include <cmath>", "<cmath>"), ("#include <unordered_map>", "<unordered_map>"),
            ("#include <boost/json.hpp>", "only the standard library"),
            ("double share = 1;", "floating point"), ("float f;", "floating point"),
            ("std::unordered_set<int> s;", "hash order"), ("auto now = steady_clock::now();", "a clock"),
            ("long now = time(nullptr);", "a clock"), ("int r = rand();", "a random number"),
            ("std::mt19937_64 r;", "a random number"), ('auto e = getenv("X");', "the environment"),
            ("void f() { printf(0); }", "input or output"),
        ]:
            with self.subTest(text=text):
                self.write("src/model/names.cc", SOUND["src/model/names.cc"] + text + "\n")
                self.expect("core", "src/model/names.cc", message)

    def test_other_folders_may_use_clocks(self):
        """Without this, the rule of the core would bind everybody."""
        self.append("src/service/service.cc", "#include <chrono>\ndouble x;\n")
        self.assertEqual(self.run_tool("--only", "core")[0], 0)

    def test_the_guard_keeps_out_of_its_host(self):
        """Without this, the guard could throw into, or abort, a tenant's process."""
        self.write("src/guard/guard.cc", "#include <iostream>\nvoid f() { throw 1; }\n")
        self.expect("guard", "src/guard/guard.cc", "throw")
        self.expect("guard", "src/guard/guard.cc", "<iostream>")

    def test_slow_libraries_stay_at_home(self):
        """Without this, every folder could pay the compile time of the HTTP library."""
        self.append("src/service/service.cc", "#include <boost/beast/http.hpp>\n#include <sqlite3.h>\n")
        self.expect("wrapped-libraries", "src/service/service.cc", "boost/beast belongs in src/net/")
        self.expect("wrapped-libraries", "src/service/service.cc", "sqlite3.h belongs in")
        for name in "abc":
            self.write(f"src/net/{name}.cc", "#include <boost/beast/core.hpp>\n")
        self.expect("wrapped-libraries", "src/net/c.cc", "2 may")

    def test_long_files_and_functions(self):
        """Without this, files and functions would grow."""
        self.append("src/journal/journal.cc", "// x\n" * 700)
        self.expect("sizes", "src/journal/journal.cc", "at most 700")
        body = "  x();\n" * 80
        for number, head in enumerate([
            "int f() {\n", "namespace n {\nclass A {\n  void g() const {\n", "A::A(int x)\n    : x_{x},\n      y_(1) {\n",
            'TEST(A, B) {\n  auto s = "}";\n  // }\n', "auto h = [](int) {\n", "template <class T>\nT k(T x = {}) {\n",
        ]):
            with self.subTest(head=head):
                opens = head.count("{\n")
                self.write("src/journal/journal.cc", head + body + "}\n" * opens)
                self.expect("sizes", "src/journal/journal.cc", "a function of 8")
        for sound in ["namespace n {\n" + "int x;\n" * 90 + "}\n", "const int kTable[] = {\n" + "1,\n" * 90 + "};\n",
                      "struct S {\n" + "  void f() { x(); }\n" * 90 + "};\n", "enum class E : int {\n" + "  kA,\n" * 90 + "};\n",
                      "constexpr std::array<Row, 3> kRows = Rows{\n" + "  {1},\n" * 90 + "};\n"]:
            with self.subTest(sound=sound[:30]):
                self.write("src/journal/journal.cc", sound)
                self.assertEqual(self.run_tool("--only", "sizes")[0], 0, self.run_tool("--only", "sizes")[1])

    def test_dead_files(self):
        """Without this, files that nothing builds would stay and mislead."""
        self.write("src/service/dead.cc", "")
        self.expect("dead-files", "src/service/dead.cc", "no CMakeLists.txt")
        self.append("src/service/CMakeLists.txt", "# dead.cc\n")
        self.expect("dead-files", "src/service/dead.cc", "no CMakeLists.txt")
        self.write("src/service/dead.h", '#pragma once\n#include "service/dead.h"\n')
        self.expect("dead-files", "src/service/dead.h", "no file includes")

    def test_untested_folders_and_silent_tests(self):
        """Without this, a folder could come without tests, and a test without its reason."""
        self.write("src/device/device.cc", "")
        self.expect("tests-exist", "src/device", "there is no tests/device")
        self.write("tests/device_part/CMakeLists.txt", "")
        self.assertNotIn("src/device", self.run_tool("--only", "tests-exist")[1])
        self.write("tests/base/one_test.cc", "int x;\n")
        self.expect("tests-exist", "tests/base/one_test.cc", "no test in this file")
        self.write("tests/base/one_test.cc", "\nTEST_F(A, B) {\n  x();\n  y();\n}\n")
        self.expect("tests-say-why", "tests/base/one_test.cc", "what would break")

    def test_tests_behind_the_main(self):
        """Without this, a class at the end of a file would be passed over whenever the file is run by itself."""
        main = 'if __name__ == "__main__":\n    unittest.main()\n'
        self.write("tests/e2e/test_one.py", "import unittest\n\n\n" + main)
        self.assertEqual(self.run_tool("--only", "main-is-last")[0], 0)
        self.append("tests/e2e/test_one.py", "\n\nclass Two(unittest.TestCase):\n    pass\n")
        self.expect("main-is-last", "tests/e2e/test_one.py", "stand behind")
        self.write("tests/e2e/test_one.py", "import unittest\n")
        self.expect("main-is-last", "tests/e2e/test_one.py", "cannot be run by itself")

    def test_headers_that_need_another_first(self):
        """Without this, a header could work only behind another one."""
        self.write("src/model/job.h", "#pragma once\nstruct Job { std::string text; };\n")
        self.expect("headers-alone", "src/model/job.h", "does not compile alone")
        self.write("src/model/job.h", SOUND["src/model/job.h"])
        self.write("src/base/error.h", "#pragma once\n")  # remembered verdicts must not hide a change below
        self.expect("headers-alone", "src/model/job.h", "does not compile alone")

    def test_words(self):
        """Without this, notes to oneself and paths of one machine would be published."""
        for word in ["TO" + "DO: later", "FIX" + "ME", "/ho" + "me/jane/x", "see iss" + "ue 12"]:
            with self.subTest(word=word):
                self.write("docs/c.md", f"Some {word} here\n")
                self.expect("words", "docs/c.md", word.split(":")[0].split(" later")[0].removeprefix("see ").removesuffix("/x"))
        self.write("docs/c.md", "mkstemp takes fileXXXXXX; TODOS\n")
        self.assertEqual(self.run_tool("--only", "words")[0], 0)

    def test_links(self):
        """Without this, the papers would lead readers nowhere."""
        for text, message in [("[x](missing.md)", "leads nowhere"), ("[x](b.md#other)", "no heading #other"),
                              ("[x](#nothing)", "no heading #nothing"), ("![x](img/none.png)", "leads nowhere")]:
            with self.subTest(text=text):
                self.write("docs/a.md", f"# T\n{text}\n")
                self.expect("links", "docs/a.md", message)

    def test_reasons_without_a_sentence(self):
        """Without this, a user could be shown a token and no sentence."""
        self.append("src/service/service.cc", 'auto e = fail(Code::kAborted,\n    "job.lost", "x");\n')
        self.expect("reasons", "src/service/service.cc", '"job.lost"')
        self.write("src/service/service.cc", 'auto r = problem(404, "path.unknown", "x");\n')
        self.expect("reasons", "src/service/service.cc", '"path.unknown"')
        self.append("src/model/names.cc", 'case ReasonCode::kNew: return "npus.new";\n')
        self.expect("reasons", "src/model/names.cc", '"npus.new"')
        self.write("src/service/service.cc", 'auto e = fail(Code::kAborted, "journal.lost", "for the log");\n')
        self.expect("reasons", "src/service/service.cc", '"journal.lost"')
        (self.root / "src/wire/reason_catalogue.cc").rename(self.root / "src/wire/other.cc")
        self.expect("reasons", "src/wire", "is not there")

    def test_sentences_without_chinese(self):
        """Without this, a user would get an error in a language that was not asked for."""
        self.write("src/wire/sentence_catalogue.cc", 'Text{"no job {job}", "x"},\nText{"try it "\n     "again later", "y"},\n')
        sound = 'return fail(Code::kNotFound, "job.unknown",\n  "no job " + name, "try it again later");\n'
        self.write("src/service/service.cc", sound)
        self.assertEqual(self.run_tool("--only", "sentences")[0], 0)
        self.write("src/service/service.cc", sound + 'return fail(Code::kAborted, "job.lost",\n  "the job " + n + " went away");\n')
        self.expect("sentences", "src/service/service.cc", "went away")
        self.write("src/service/service.cc", sound + 'return Error{Code::kAborted, "a.b", "gone for ever", {}, {}, nullptr};\n')
        self.expect("sentences", "src/service/service.cc", "gone for ever")
        self.write("src/service/service.cc", sound + 'return fail(Code::kDataLoss, "journal.lost", "only for the log");\n')
        self.assertEqual(self.run_tool("--only", "sentences")[0], 0)
        self.write("src/service/service.cc", 'return fail(Code::kNotFound, "job.unknown", "no job " + name);\n')
        self.expect("sentences", "src/wire/sentence_catalogue.cc", "try it again later")

    def test_words_of_the_command_line(self):
        """Without this, the command line would say in English what belongs in a catalogue."""
        sound = ('// a comment of words\nCommand{.name = "tenant delete", .examples = "tangram queue --all\\n"};\n'
                 'TG_ASSERT(x, "this cannot be");\nsay("one-word");\n')
        self.write("src/cli/queue.cc", sound)
        self.assertEqual(self.run_tool("--only", "cli-words")[0], 0)
        self.append("src/cli/queue.cc", 'session.say("no jobs are waiting");\n')
        self.expect("cli-words", "src/cli/queue.cc", "no jobs are waiting")


if __name__ == "__main__":
    unittest.main()
