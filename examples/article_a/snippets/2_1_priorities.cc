// Article A, 2.1 优先级队列的创建与配置 (priorities): three streams, of high, normal and low priority.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "article_a/snippets/support.h"

namespace {

struct Work {
  const char* name;
  aclrtStream stream;
  aclrtEvent done = nullptr;
  std::uint64_t done_us = 0;
};

const char* name_of(article_a::PriorityClass priority) {
  switch (priority) {
    case article_a::PriorityClass::kHigh:
      return "high";
    case article_a::PriorityClass::kNormal:
      return "normal";
    case article_a::PriorityClass::kLow:
      return "low";
  }
  return "";
}

void show(const Work& work) {
  std::uint32_t priority = 0;
  article_a::must(aclrtStreamGetPriority(work.stream, &priority), "aclrtStreamGetPriority");
  std::printf("%s: priority %u, %s\n", work.name, priority, name_of(article_a::priority_class(priority)));
}

// Products wait on all three streams, the least urgent submitted first. The device's own clock tells who was
// served.
template <std::size_t count>
void compete(std::array<Work, count>& all) {
  constexpr int kSize = 64;
  void* a = article_a::to_device(article_a::numbers(kSize * kSize, 1));
  void* b = article_a::to_device(article_a::numbers(kSize * kSize, 2));
  void* c = article_a::to_device(article_a::numbers(kSize * kSize, 3));
  article_a::Gate gate;
  for (auto work = all.rbegin(); work != all.rend(); ++work) {
    gate.hold(work->stream);
    for (int i = 0; i < 5; ++i) {
      article_a::must(aclblasGemmEx(ACLblasRowMajor, ACLblasNoTrans, ACLblasNoTrans, kSize, kSize, kSize,
                                    1.0F, a, ACLblasFp16, kSize, b, ACLblasFp16, kSize, 0.0F, c, ACLblasFp16,
                                    kSize, ACLblasFp16Compute, work->stream),
                      "aclblasGemmEx");
    }
    article_a::must(aclrtCreateEvent(&work->done), "aclrtCreateEvent");
    article_a::must(aclrtRecordEvent(work->done, work->stream), "aclrtRecordEvent");
  }
  gate.open();
  article_a::must(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
  for (Work& work : all) {
    article_a::must(aclrtEventGetTimestamp(work.done, &work.done_us), "aclrtEventGetTimestamp");
  }
}

}  // namespace

int main() {
  const article_a::Session session;
  article_a::must(aclrtSetDevice(0), "aclrtSetDevice");

  // clang-format off: as printed
  // 创建一个高优先级 Stream（用于在线推理）
  aclrtStream high_priority_stream;
  aclrtStreamAttr attr;
  aclrtInitStreamAttr(&attr, ACL_STREAM_ATTR_PRIORITY);
  aclrtSetStreamAttrPriority(&attr, 0);  // 0 = 最高优先级
  aclrtCreateStreamWithAttr(&high_priority_stream, &attr);

  // 创建一个普通优先级 Stream（用于离线训练）
  aclrtStream normal_stream;
  aclrtInitStreamAttr(&attr, ACL_STREAM_ATTR_PRIORITY);
  aclrtSetStreamAttrPriority(&attr, 5);  // 5 = 中等优先级
  aclrtCreateStreamWithAttr(&normal_stream, &attr);

  // 创建一个低优先级 Stream（用于后台数据预处理）
  aclrtStream low_priority_stream;
  aclrtInitStreamAttr(&attr, ACL_STREAM_ATTR_PRIORITY);
  aclrtSetStreamAttrPriority(&attr, 10);  // 10 = 低优先级
  aclrtCreateStreamWithAttr(&low_priority_stream, &attr);
  // clang-format on

  std::array all = {Work{"high_priority_stream", high_priority_stream}, Work{"normal_stream", normal_stream},
                    Work{"low_priority_stream", low_priority_stream}};
  for (const Work& work : all) show(work);
  std::printf("priorities 11 and -1 are refused: %s\n",
              aclrtSetStreamAttrPriority(&attr, 11) == ACL_ERROR_INVALID_PARAM &&
                      aclrtSetStreamAttrPriority(&attr, -1) == ACL_ERROR_INVALID_PARAM
                  ? "yes"
                  : "no");
  compete(all);
  std::ranges::sort(all, {}, &Work::done_us);
  std::printf("served: %s, %s, %s\n", all[0].name, all[1].name, all[2].name);
  return 0;
}
