"""The manners of the command line against a live daemon: completion in real shells, languages, suggestions, tables
for scripts, manual pages, explanations."""

import contextlib
import csv
import io
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

import harness

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 4}, members: [54321]}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
"""
MEMBER_OF_TEAM_A = 54321
CHINESE = re.compile("[\u4e00-\u9fff]")
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>()][0B]?)")


def environment(machine, **more):
    """As a user of the machine has it: the program on PATH, the socket by its variable."""
    path = f"{harness.BUILD / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "TANGRAM_SOCKET": str(machine.socket), "HOME": str(machine.root), "TERM": "xterm", **more}


class Terminal:
    """A shell on a terminal of its own, typed at."""

    def __init__(self, command, env):
        master, slave = pty.openpty()
        self.master = master
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
                                        preexec_fn=harness.die_with_parent)
        os.close(slave)
        self.shown = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.shown:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} does not appear on the terminal:\n{self.shown}")
            if select.select([self.master], [], [], 0.2)[0]:
                self.shown += ESCAPES.sub("", os.read(self.master, 65536).decode(errors="replace"))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Manners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = harness.Machine()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        cls.train = cls.machine.submit("--tenant", "team-a", "--npus", "4", "--name", "train-001", "--", "sleep", "600")
        cls.machine.wait_for(cls.train, "running")
        cls.waits = cls.machine.submit("--tenant", "team-a", "--npus", "1", "--name", "infer-001", "--", "sleep", "600")
        cls.machine.wait_for(cls.waits, "waiting")
        cls.secret = cls.machine.submit("--tenant", "team-b", "--name", "secret-001", "--", "true")
        cls.machine.ok("wait", cls.secret)

    def run_shell(self, *command, **env):
        done = subprocess.run(command, capture_output=True, text=True, env=environment(self.machine, **env), check=False,
                              stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.stderr, "", done)
        return done.stdout.splitlines()


class Completion(Manners):
    def bash(self, *words, **env):
        """What TAB offers at the end of the words, split as bash splits them."""
        quoted = " ".join(f"'{word}'" for word in ("tangram", *words))
        return self.run_shell("bash", "--norc", "-c", f"""
            source <(tangram completion bash)
            COMP_WORDS=({quoted}) COMP_CWORD={len(words)}
            _tangram
            printf '%s\\n' "${{COMPREPLY[@]}}" """, **env)

    def fish(self, line, **env):
        return self.run_shell("fish", "--no-config", "-c", f"tangram completion fish | source; complete -C'{line}'", **env)

    def expect_names(self, complete, expected):
        """What the daemon is asked for: it has half a second, which a busy machine may not give it at once."""
        end = time.monotonic() + 30
        while (offered := complete()) != expected and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(offered, expected)

    def test_bash_offers_commands_options_and_names(self):
        """Without it completion would be generated, and not work in the shell that most people use."""
        self.assertEqual(self.bash("qu"), ["queue", "quota"])
        self.assertEqual(self.bash("tenant", ""), ["delete"])
        self.assertIn("--columns", self.bash("queue", "--c"))
        self.assertEqual(self.bash("queue", "--state", "r"), ["ready", "running"])
        self.assertEqual(self.bash("queue", "--state", "=", "r"), ["ready", "running"])
        self.assertEqual(self.bash("queue", "--state", "="), ["ready", "waiting", "starting", "running", "ended"])
        self.expect_names(lambda: self.bash("quota", ""), ["team-a", "team-b"])
        self.expect_names(lambda: self.bash("cancel", ""), [self.train, self.waits, "infer-001", "train-001"])
        self.assertEqual(self.bash("cancel", "j-", self.waits[:2])[-1:], [self.waits])
        self.assertIn("secret-001", self.bash("describe", ""))
        self.assertEqual(self.bash("explain", "quota.npus."), ["quota.npus.exceeded", "quota.npus.above_limit"])
        self.machine.ok("token", "create", "ci", "--role", "viewer")
        self.assertEqual(self.bash("events", "--type", "npu.h"), ["npu.health"])
        self.assertIn("train-001", self.bash("history", "tra"))
        self.assertEqual(self.bash("token", ""), ["create", "list", "rotate", "revoke"])
        self.expect_names(lambda: self.bash("token", "rotate", ""), ["ci"])

    def test_bash_completes_at_a_real_prompt(self):
        """Without it the function could answer rightly and TAB still do nothing."""
        self.complete_at_a_prompt(["bash", "--noprofile", "--norc", "-i"], "source <(tangram completion bash)\n")

    def test_zsh_completes_at_a_real_prompt(self):
        """Without it zsh would not know the script as one of its own."""
        self.complete_at_a_prompt(["zsh", "-f", "-i"],
                                  "autoload -Uz compinit && compinit -u -D && source <(tangram completion zsh)\n")

    def complete_at_a_prompt(self, shell, setup):
        terminal = Terminal(shell, environment(self.machine, PS1="$ "))
        with contextlib.closing(terminal):
            terminal.type(setup + "echo re''ady\n")
            terminal.wait_for("ready")
            terminal.type("tangram stat\t\n")
            terminal.wait_for("HEALTH")
            terminal.type("tangram describe tra\t\n")
            terminal.wait_for("primary device: NPU 0")
            terminal.type("tangram queue --tenant=team-b --al\t --no-h\t --columns na\t\n")
            terminal.wait_for("secret-001")

    def test_zsh_autoloads_the_script(self):
        """Without it the file in zsh's directory of functions would work only from the second TAB on."""
        folder = self.machine.root / "zsh"
        folder.mkdir()
        (folder / "_tangram").write_text("\n".join(self.run_shell("tangram", "completion", "zsh")) + "\n")
        terminal = Terminal(["zsh", "-f", "-i"], environment(self.machine, PS1="$ "))
        with contextlib.closing(terminal):
            terminal.type(f"fpath=({folder} $fpath); autoload -Uz compinit && compinit -u -D; echo re''ady\n")
            terminal.wait_for("ready")
            terminal.type("tangram stat\t\n")
            terminal.wait_for("HEALTH")

    def test_fish_offers_commands_options_and_names(self):
        """Without it the script of fish could be anything."""
        self.assertEqual([line.split("\t")[0] for line in self.fish("tangram qu")], ["queue", "quota"])
        self.assertIn("one line for each NPU", self.fish("tangram statu")[0])
        self.expect_names(lambda: [line.split("\t")[0] for line in self.fish("tangram cancel ")],
                          ["infer-001", self.train, self.waits, "train-001"])
        self.assertIn(f"{self.train}\tteam-a/train-001, running", self.fish("tangram describe j-"))
        self.assertEqual(self.fish("tangram queue --state=ru")[0].split("\t")[0], "--state=running")
        self.assertIn("/usr/", self.fish("tangram apply -f /us"))

    def test_a_tenant_is_offered_its_own_names(self):
        """Without it TAB would tell one tenant the names of another's jobs."""
        answer = self.machine.cli("__complete", "describe", "", user=MEMBER_OF_TEAM_A)
        self.assertIn("train-001", answer.out)
        self.assertNotIn("secret", answer.out)
        self.assertNotIn("team-b", self.machine.cli("__complete", "quota", "", user=MEMBER_OF_TEAM_A).out)

    def test_descriptions_are_in_the_users_language(self):
        """Without it a list in fish or zsh would be English for everybody."""
        self.assertRegex(self.fish("tangram statu", LC_ALL="zh_CN.UTF-8")[0], CHINESE)

    def test_a_daemon_that_hangs_does_not_hang_the_shell(self):
        """Without it TAB would freeze the terminal while the daemon is stuck."""
        with harness.Machine() as machine:
            machine.daemon.send_signal(signal.SIGSTOP)
            try:
                start = time.monotonic()
                answer = machine.cli("__complete", "cancel", "")
                took = time.monotonic() - start
            finally:
                machine.daemon.send_signal(signal.SIGCONT)
            self.assertEqual((answer.code, answer.out, answer.err), (0, ":none\n", ""))
            self.assertLess(took, 5)
            machine.kill_daemon()
            self.assertEqual(machine.cli("__complete", "cancel", "").out, ":none\n")


class Languages(Manners):
    def test_the_locale_decides(self):
        """Without it the order of the variables would be another one than that of every other program."""
        chinese = {"LC_ALL": "zh_CN.UTF-8"}
        for env in (chinese, {"LC_MESSAGES": "zh_CN"}, {"LANG": "zh"}, {"LC_ALL": "", "LANG": "zh_CN.UTF-8"}):
            self.assertRegex(self.machine.ok("queue", env=env), "位置", env)
        for env in ({}, {"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, {"LC_MESSAGES": "en_GB", "LANG": "zh_CN"}):
            self.assertNotRegex(self.machine.ok("queue", env=env), CHINESE, env)
        self.assertNotRegex(self.machine.ok("queue", "--lang", "en", env=chinese), CHINESE)
        self.assertRegex(self.machine.ok("queue", "--lang", "zh"), CHINESE)

    def test_the_daemon_answers_in_the_language_of_the_command(self):
        """Without it reasons and errors, which the daemon makes, would be English in a Chinese answer."""
        def say(*words):
            answer = self.machine.cli("--lang", "zh", *words)
            return answer.out + answer.err
        self.assertIn("租户 team-a 的配额为 4 个 NPU，已占用 4，任务需要 1 个 NPU", say("queue"))
        why = say("why", "infer-001")
        self.assertRegex(why.splitlines()[0], "任务 infer-001 等待中：租户 team-a")
        self.assertIn("[推演：可启动]", why)
        self.assertIn("没有租户 team-c", say("quota", "team-c"))
        self.assertIn("未结束的任务", say("tenant", "delete", "team-a"))
        self.assertIn("配额上限为 4 个 NPU", say("submit", "--tenant", "team-a", "--npus", "5", "--", "true"))
        self.assertIn("的键须为", say("submit", "--tenant", "team-a", "--label", "a b=c", "--", "true"))
        self.assertIn(f"任务 secret-001 ({self.secret}) 已成功", say("describe", "secret-001"))
        failed = self.machine.submit("--tenant", "team-b", "--", "sh", "-c", "exit 3")
        self.machine.cli("wait", failed)
        self.assertIn("退出状态为 3", say("describe", failed))
        # Tokens, names and numbers are the same: a machine reads them.
        document = self.machine.json("why", "infer-001", "--lang", "zh")
        self.assertEqual(document["blockers"][0]["code"], "quota.npus.exceeded")
        self.assertEqual(document["job"]["state"], "waiting")

    def test_nothing_in_a_chinese_answer_is_english_by_mistake(self):
        """Without it a sentence that nobody translated would show up in the middle of an answer."""
        for words in (["queue"], ["queue", "--all"], ["status"], ["quota"], ["describe", "train-001"], ["describe", self.secret],
                      ["why", "infer-001"], ["why", "train-001"], ["why", self.secret], ["cancel", self.secret],
                      ["describe", "nobody-knows-it"], ["status", "--socket", "/nonexistent"], ["queue", "--nonsense"],
                      ["wait"], ["statsu"], ["apply", "-f", "/nonexistent"], ["submit", "--npus", "x", "--", "true"],
                      ["submit", "--timelimit", "1h"], ["logs", "--attempt", "9", self.secret], ["explain", "x.y"],
                      ["submit", "--time-limit", "5", "--", "true"], ["apply", "-f", "/etc/hostname"], ["--version"],
                      ["token", "list"], ["token", "create", "zh", "--role", "viewer"], ["token", "rotate", "zh"],
                      ["token", "create", "zh", "--role", "viewer"], ["token", "create", "x", "--role", "tenant"],
                      ["token", "list"], ["token", "revoke", "zh"], ["token", "revoke", "nobody"], ["token", "rotate", "zh"],
                      ["status", "--server", "box"], ["status", "--server", "http://192.0.2.1:1"],
                      ["status", "--token-file", "/nonexistent"], ["status", "--server", "https://127.0.0.1:1"],
                      ["lease", "--tenant", "team-b", "--", "/nonexistent"],
                      ["events", "--after", "oldest"], ["history", "train-001"], ["history", "team-a"], ["history", "0"],
                      ["history", "nobody"], ["history", "99"], ["events", "--after", "x"], ["events", "--type", "y"],
                      ["events", "--last", "1", "--after", "1.0"], ["events", "--after", "999999.0"]):
            answer = self.machine.cli("--lang", "zh", *words)
            for line in (answer.out + answer.err).splitlines():
                prose = re.sub(r"`[^`]*`|\$ .*|tangram [a-z-]+( [a-zA-Z.0-9/_-]+)*", "", line)
                # Three English words in a row are a sentence.
                self.assertNotRegex(prose, r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b(?! [0-9])", f"{words}\n{answer!r}")

    def test_events_are_told_in_the_users_language(self):
        """Without it events, which are kept in English for all, would be English for everybody."""
        told = self.machine.ok("--lang", "zh", "history", "infer-001")
        self.assertIn(f"租户 team-a 的任务 infer-001 ({self.waits}) 请求 1 个 NPU，优先级 中", told)
        self.assertRegex(told, f"job.waiting .*{self.waits}.*：租户 team-a 的配额为 4 个 NPU，已占用 4")
        self.assertIn("tenant team-a holds 4 of 4 NPUs", self.machine.ok("history", "infer-001", "-o", "json", "--lang", "zh"))
        follower = Terminal(["tangram", "events", "-f", "--last", "1", "--lang", "zh"], environment(self.machine))
        watcher = Terminal(["tangram", "queue", "--watch", "--all", "--lang", "zh"], environment(self.machine))
        with contextlib.closing(follower), contextlib.closing(watcher):
            watcher.wait_for("infer-001")
            follower.wait_for("Z ")
            self.machine.submit("--tenant", "team-b", "--name", "told-001", "--", "true")
            follower.wait_for("租户 team-b 的任务 told-001")
            follower.wait_for("已结束：成功")
            watcher.wait_for("told-001")

    def test_columns_stand_in_line(self):
        """Without it wide characters would push what stands behind them out of its column."""
        lines = self.machine.ok("queue", "--lang", "zh").splitlines()

        def column(line, text):
            at = line.index(text)
            return sum(2 if ord(c) >= 0x2E80 else 1 for c in line[:at])
        rows = [line for line in lines if re.search(r" j-\d+ ", line)]
        self.assertEqual({column(line, "team-a") for line in rows}, {column(lines[0], "租户")})

    def test_help_is_in_both_languages(self):
        """Without it the first thing that a new user reads would be in one language only."""
        self.assertIn("用法：", self.machine.ok("submit", "--help", "--lang", "zh"))
        self.assertIn("Usage:", self.machine.ok("submit", "--help"))


class Suggestions(Manners):
    def test_names_that_the_daemon_knows(self):
        """Without it a mistyped name would mean a search through the queue."""
        self.assertIn("did you mean: train-001", self.machine.cli("why", "trian-001").err)
        self.assertIn("did you mean: team-a/train-001", self.machine.cli("logs", "team-a/trian-001").err)
        self.assertIn("did you mean: team-b", self.machine.cli("quota", "team-bb").err)
        self.assertIn("did you mean: team-a", self.machine.cli("submit", "--tenant", "tema-a", "--", "true").err)
        self.assertIn("did you mean: tangram queue", self.machine.cli("qeueu").err)
        self.assertIn("did you mean: --tenant", self.machine.cli("queue", "--tenat", "x").err)
        self.machine.ok("token", "create", "dashboard", "--role", "viewer")
        self.assertIn("did you mean: dashboard", self.machine.cli("token", "revoke", "dashbord").err)

    def test_no_name_of_another_tenant(self):
        """Without it a tenant could find out the names of another's jobs by guessing near them."""
        for words in (["why", "secret-00"], ["quota", "team-v"]):
            answer = self.machine.cli(*words, user=MEMBER_OF_TEAM_A)
            self.assertEqual(answer.code, 4, repr(answer))
            self.assertNotIn("secret-001", answer.err)
            self.assertNotIn("team-b", answer.err)


class Tables(Manners):
    def test_rows_for_scripts(self):
        """Without it scripts would cut columns out of tables that change."""
        self.assertEqual(self.machine.ok("queue", "-q").split(), [self.train, self.waits])
        self.assertEqual(self.machine.ok("queue", "--columns", "name,state", "--no-headers", "--lang", "zh").splitlines(),
                         ["train-001  running", "infer-001  waiting"])
        self.assertEqual(self.machine.ok("status", "-q").split(), [str(n) for n in range(8)])
        self.assertEqual(self.machine.ok("quota", "-q").split(), ["team-a", "team-b"])
        rows = list(csv.DictReader(io.StringIO(self.machine.ok("queue", "--all", "-o", "csv"))))
        self.assertEqual({row["job"]: row["state"] for row in rows}[self.secret], "succeeded")
        self.assertEqual([row["reason"] for row in rows if row["job"] == self.waits], ["quota.npus.exceeded"])
        quota = list(csv.DictReader(io.StringIO(self.machine.ok("quota", "team-a", "-o", "csv"))))
        self.assertEqual([(row["used"], row["limit"], row["left"]) for row in quota if row["dimension"] == "npus"],
                         [("4", "4", "0")])
        self.assertIn("MESSAGE", self.machine.ok("queue", "-o", "wide"))

    def test_ids_can_be_handed_on(self):
        """Without it `cancel $(queue -q …)` would need a parser in between."""
        jobs = [self.machine.submit("--tenant", "team-a", "--label", "sweep=7", "--", "true") for _ in range(2)]
        ids = self.machine.ok("queue", "-q", "--label", "sweep=7").split()
        self.assertEqual(ids, jobs)
        self.machine.ok("cancel", *ids)
        self.assertEqual(self.machine.ok("queue", "-q", "--label", "sweep=7"), "")


class Pages(unittest.TestCase):
    def test_manual_pages_render_without_warnings(self):
        """Without it `man tangram` could be full of holes."""
        root = harness.BUILD / "share/man"
        pages = sorted(root.glob("**/*.[18]"))
        self.assertEqual(len(pages), 4, pages)
        self.assertIsNotNone(shutil.which("man"))
        for page in pages:
            done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, check=False,
                                  env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": ""})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertIn("TANGRAM", done.stdout)
            self.assertEqual("zh_CN" in str(page), bool(CHINESE.search(done.stdout)), page)

    def test_manual_pages_are_those_of_this_program(self):
        """Without it the installed page could describe another version's options."""
        for page, words in (("man1/tangram.1", ["tangram-man", "tangram.1"]), ("man8/tangramd.8", ["tangram-man", "tangramd.8"])):
            made = subprocess.run([harness.program(words[0]), words[1]], capture_output=True, text=True, check=True).stdout
            self.assertEqual((harness.BUILD / "share/man" / page).read_text(), made)
        daemon = subprocess.run([harness.program("tangramd"), "--help"], capture_output=True, text=True, check=True).stdout
        manual = (harness.BUILD / "share/man/man8/tangramd.8").read_text().replace("\\-", "-")
        for option in re.findall(r"--[a-z-]+", daemon):
            self.assertIn(option, manual)


class Explanations(Manners):
    def test_every_code_of_an_answer_is_explained(self):
        """Without it a code could be in an answer, and nobody say what it means."""
        _, document = self.machine.api("GET", "/v1/jobs/nobody")
        for code in (document["reason"], document["code"]):
            self.assertIn(code, self.machine.ok("explain", code, "--socket", "/nonexistent"))
        reason = self.machine.json("describe", self.waits)["reason"]["code"]
        self.assertIn("what to do:", self.machine.ok("explain", reason))
        self.assertIn(f"tangram explain {reason}", self.machine.ok("why", self.waits))

    def test_every_exit_code_of_the_page_is_explained(self):
        """Without it the page and the program could disagree about what an exit code means."""
        page = (harness.SOURCE / "docs/cli.md").read_text()
        for code in re.findall(r"(?m)^\| (\d+) \|", page):
            self.assertEqual(self.machine.json("explain", code)["kind"], "exit-code")


if __name__ == "__main__":
    unittest.main()
