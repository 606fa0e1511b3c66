#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kFile{.name = "--file",
                       .about = help::kApplyFile,
                       .value = "FILE",
                       .letter = 'f',
                       .required = true,
                       .completes = Completes::kFile};
constexpr std::array kOptions{kFile};

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string text;
  std::string buffer(std::size_t{64} << 10, '\0');
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > wire::kBodyBytesMax) {
      return fail(
          Code::kResourceExhausted, "input.too_large",
          name + " is larger than " + format_bytes(Bytes(static_cast<std::int64_t>(wire::kBodyBytesMax))),
          "apply it in parts");
    }
  }
  if (in.bad()) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable", "cannot read " + name,
                "check the disk and the rights");
  }
  return text;
}

Result<std::string> read_input(Session& session, const std::string& file) {
  if (file == "-") return read_all(session.streams().in, "standard input");
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable", "--file '" + file + "' is a directory",
                "name one of the files in it");
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable",
                "--file '" + file + "': cannot open it: " + errno_text(errno),
                "name a file with tenants, or - for standard input");
  }
  return read_all(in, "--file '" + file + "'");
}

// JSON begins with {" or {}; anything else, also YAML's {kind: Tenant}, is YAML.
wire::Format format_of(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t brace = text.find_first_not_of(kSpace);
  if (brace == std::string::npos || text[brace] != '{') return wire::Format::kYaml;
  const std::size_t next = text.find_first_not_of(kSpace, brace + 1);
  const bool json = next != std::string::npos && (text[next] == '"' || text[next] == '}');
  return json ? wire::Format::kJson : wire::Format::kYaml;
}

int run(Session& session, const Arguments& arguments) {
  const std::string file = arguments.text(kFile);
  const Result<std::string> text = read_input(session, file);
  if (!text) return session.report(text.error());
  const Result<wire::ApplyAnswer> answer = session.api().apply(*text, format_of(*text));
  if (!answer) {
    const bool about_the_file = answer.error().code == Code::kInvalidArgument && file != "-";
    return session.report(about_the_file ? wrap(file, answer.error()) : answer.error());
  }
  return session.emit(wire::write(*answer),
                      [&](const Canvas& canvas) { return render_apply(*answer, canvas); });
}

}  // namespace

const Command kApply{
    .name = "apply",
    .summary = help::kApply,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram apply -f tenants.yaml\n"
        "tangram apply -f - < tenants.yaml\n",
};

}  // namespace tangram::cli
