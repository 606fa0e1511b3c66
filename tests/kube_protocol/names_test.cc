#include "kube/protocol/names.h"

#include <gtest/gtest.h>

namespace tangram::kube::names {
namespace {

// Without this, a manifest written for HAMi would ask for what nobody offers.
TEST(Names, AreHamis) {
  EXPECT_EQ(resource("Ascend310P"), "huawei.com/Ascend310P");
  EXPECT_EQ(memory_resource("Ascend910B4-1"), "huawei.com/Ascend910B4-1-memory");
  EXPECT_EQ(core_resource("Ascend310P"), "huawei.com/Ascend310P-core");
  EXPECT_EQ(hami_devices("Ascend310P"), "huawei.com/Ascend310P");
  EXPECT_EQ(hami_to_allocate("Ascend310P"), "hami.io/Ascend310P-devices-to-allocate");
  EXPECT_EQ(hami_allocated("Ascend310P"), "hami.io/Ascend310P-devices-allocated");
  EXPECT_EQ(hami_node_register("Ascend310P"), "hami.io/node-register-Ascend310P");
  EXPECT_EQ(hami_node_handshake("Ascend310P"), "hami.io/node-handshake-Ascend310P");
  EXPECT_EQ(template_annotation(12), "tangram.dev/template-12");
}

// Without this, a tenant could write down an allocation that nobody made, or a user be refused what is his.
TEST(Names, AMarkOfAnAllocationIsNobodysToWrite) {
  for (const char* key :
       {"tangram.dev/admitted", "tangram.dev/allocation", "tangram.dev/allocated", "tangram.dev/requested",
        "tangram.dev/granted", "tangram.dev/template-0", "hami.io/Ascend310P-devices-to-allocate",
        "hami.io/Ascend910B4-1-devices-allocated"}) {
    EXPECT_EQ(mark_of_annotation(key), Mark::kOwn) << key;
  }
  for (const char* key : {"hami.io/vgpu-node", "hami.io/vgpu-time", "hami.io/bind-phase", "hami.io/bind-time",
                          "predicate-time", "huawei.com/Ascend310P", "huawei.com/Ascend910"}) {
    EXPECT_EQ(mark_of_annotation(key), Mark::kAdopted) << key;
  }
  for (const char* key : {"hami.io/use-Ascend310P-uuid", "hami.io/node-scheduler-policy",
                          "huawei.com/vnpu-mode", "tangram.dev/priority", "tangram.dev/time-limit",
                          "tangram.dev/bandwidth", "app", "", "hami.io/vgpu-devices-allocated"}) {
    EXPECT_EQ(mark_of_annotation(key), Mark::kNone) << key;
  }
  EXPECT_EQ(mark_of_label("tangram.dev/managed"), Mark::kOwn);
  EXPECT_EQ(mark_of_label("tangram.dev/tenant"), Mark::kOwn);
  EXPECT_EQ(mark_of_label("hami.io/vgpu-node"), Mark::kAdopted);
  EXPECT_EQ(mark_of_label("hami.io/webhook"), Mark::kNone);
}

}  // namespace
}  // namespace tangram::kube::names
