#include "net/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::net {
namespace {

using Verdict = LineSplitter::Verdict;

// Without this, an event would be lost or joined with the next one, wherever the network cuts the stream.
TEST(LineSplitter, GivesWholeLinesWhereverTheStreamIsCut) {
  const std::string stream = "one\r\n\n\r\ntwo\nthree\n\nfour";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    LineSplitter splitter(100);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      const auto verdict =
          splitter.take(std::string_view(stream).substr(at, size), [&](std::string_view line) {
            lines.emplace_back(line);
            return true;
          });
      EXPECT_EQ(verdict, Verdict::kMore);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"})) << size;
    EXPECT_EQ(splitter.pending(), 4U) << size;
  }
}

// Without this, one line without an end would fill the memory.
TEST(LineSplitter, BoundsALine) {
  const auto ignore = [](std::string_view) { return true; };
  LineSplitter splitter(10);
  EXPECT_EQ(splitter.take("0123456789\n0123456789", ignore), Verdict::kMore);
  EXPECT_EQ(splitter.take("x", ignore), Verdict::kTooLong);
  LineSplitter at_once(10);
  EXPECT_EQ(at_once.take("0123456789x\n", ignore), Verdict::kTooLong);
}

// Without this, a caller that has seen enough would be given more.
TEST(LineSplitter, EndsWhenTheCallerHasEnough) {
  LineSplitter splitter(10);
  int lines = 0;
  EXPECT_EQ(splitter.take("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; }), Verdict::kEnough);
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace tangram::net
