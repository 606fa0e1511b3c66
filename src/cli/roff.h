// Manual pages in roff, with the macros of man(7).
#pragma once

#include <string>
#include <string_view>

namespace tangram::cli {

class RoffPage {
 public:
  // .TH: the page's name, its section, the version of what it describes, the manual's name.
  RoffPage(std::string_view name, int section, std::string_view version, std::string_view manual);

  void heading(std::string_view text);     // .SH, in capitals, without a colon at its end
  void subheading(std::string_view text);  // .SS
  void paragraph(std::string_view text);   // .PP
  void synopsis(std::string_view program, std::string_view rest);  // bold, then as it is
  void tagged(std::string_view tag, std::string_view text);        // .TP, the tag in bold
  void example(std::string_view lines);                            // set as they are

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// What a reader sees is the text itself: no letter of it commands the formatter.
std::string roff_escaped(std::string_view text);

}  // namespace tangram::cli
