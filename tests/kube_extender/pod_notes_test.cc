#include "kube/extender/pod_notes.h"

#include <gtest/gtest.h>

#include "kube_extender/support.h"

namespace tangram::kube::extender {
namespace {

PodNote note(std::string granted) {
  return {{}, std::move(granted)};
}

// Without this, containers would be told apart wrongly, or what is no Pod end the process.
TEST(PodNotes, AreTakenOutOfAPod) {
  EXPECT_EQ(note_of(train_pod()), (PodNote{{"side", "main"}, granted_slice()}));
  EXPECT_EQ(note_of(*parse_object("{}")), PodNote{});
  EXPECT_EQ(
      note_of(*parse_object(R"({"metadata":7,"spec":{"containers":[7,{"name":8}],"initContainers":{}}})")),
      (PodNote{{"", ""}, ""}));
}

// Without this, Pods that are never bound would fill the memory, or a Pod that was just asked about be
// forgotten.
TEST(PodNotes, TheLatestAreKept) {
  PodNotes notes(2);
  notes.put("a", note("1"));
  notes.put("b", note("2"));
  notes.put("a", note("3"));  // asked about again
  notes.put("c", note("4"));
  EXPECT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes.find("a")->granted, "3");
  EXPECT_FALSE(notes.find("b"));
  EXPECT_EQ(notes.find("c")->granted, "4");
  notes.forget("a");
  notes.forget("never there");
  EXPECT_FALSE(notes.find("a"));
  EXPECT_EQ(notes.size(), 1U);
}

}  // namespace
}  // namespace tangram::kube::extender
