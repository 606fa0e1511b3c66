#include "cli/roff.h"

namespace tangram::cli {
namespace {

// An argument of a macro in double quotes.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : roff_escaped(text)) {
    if (c == '"') {
      result += "\\(dq";
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

}  // namespace

std::string roff_escaped(std::string_view text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    // A line that begins so would be a command.
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    line_start = c == '\n';
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '\'':
        result += "\\(aq";
        break;
      default:
        result += c;
    }
  }
  return result;
}

RoffPage::RoffPage(std::string_view name, int section, std::string_view version, std::string_view manual) {
  text_ = ".TH " + quoted(upper(name)) + ' ' + std::to_string(section) + " \"\" " + quoted(version) + ' ' +
          quoted(manual) + '\n';
  // Chinese has no spaces to stretch, and paths must not be hyphenated.
  text_ += ".ad l\n.nh\n";
}

void RoffPage::heading(std::string_view text) {
  constexpr std::string_view kWideColon = "：";
  if (text.ends_with(':')) text.remove_suffix(1);
  if (text.ends_with(kWideColon)) text.remove_suffix(kWideColon.size());
  text_ += ".SH " + quoted(upper(text)) + '\n';
}

void RoffPage::subheading(std::string_view text) {
  text_ += ".SS " + quoted(text) + '\n';
}

void RoffPage::paragraph(std::string_view text) {
  text_ += ".PP\n" + roff_escaped(text) + '\n';
}

void RoffPage::synopsis(std::string_view program, std::string_view rest) {
  text_ += ".PP\n\\fB" + roff_escaped(program) + "\\fR " + roff_escaped(rest) + '\n';
}

void RoffPage::tagged(std::string_view tag, std::string_view text) {
  text_ += ".TP\n\\fB" + roff_escaped(tag) + "\\fR\n" + roff_escaped(text) + '\n';
}

void RoffPage::example(std::string_view lines) {
  text_ += ".PP\n.RS 4\n.nf\n" + roff_escaped(lines);
  if (!lines.ends_with('\n')) text_ += '\n';
  text_ += ".fi\n.RE\n";
}

}  // namespace tangram::cli
