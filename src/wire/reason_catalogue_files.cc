// Reasons that are about files: what stands in their place, and the driver's own.
#include "wire/file_reasons.h"

namespace tangram::wire {
namespace {

constexpr ReasonText kFileReasons[] = {
    ReasonText{"doctor.recover.damaged", "the file in which the driver remembers slices is damaged",
               "驱动记录切片的文件已损坏",
               "move it away: the driver writes a new one, and the daemon knows which slices are wanted",
               "将其移走：驱动会写新的文件，而守护进程知道需要哪些切片"},
    ReasonText{"doctor.recover.unwritable", "the file in which the driver remembers slices cannot be written",
               "驱动记录切片的文件无法写入", "let the daemon, as root, write it",
               "让以 root 运行的守护进程可以写入"},
    ReasonText{"doctor.recover.not_plain",
               "where the driver remembers slices stands a link, or something else that is no plain file",
               "驱动记录切片的位置是链接或其他非普通文件",
               "move it away: the driver writes a new one, and the daemon knows which slices are wanted",
               "将其移走：驱动会写新的文件，而守护进程知道需要哪些切片"},
    ReasonText{"doctor.recover.lock",
               "the lock of the file in which the driver remembers slices cannot be used",
               "驱动记录切片的文件的锁无法使用",
               "move away what stands in its place: driver and daemon make a new one; slices are cut again "
               "at once",
               "将占用其位置的东西移走：驱动和守护进程会新建；随后立即恢复切分"},
    ReasonText{"doctor.recover.unusable",
               "the driver cannot use the file in which it remembers slices, and no fault is seen in it",
               "驱动无法使用其记录切片的文件，但未发现该文件有问题",
               "look for what stands in the way of that file, of its copies .new and .bak beside it, and of "
               "its lock; the daemon goes on trying, and cuts again once it is mended",
               "检查该文件、其旁的 .new 和 .bak 副本以及锁是否受阻；守护进程会继续尝试，修复后恢复切分"},
    ReasonText{"doctor.recover.exposed",
               "the file in which the driver remembers slices is open to others than root",
               "驱动记录切片的文件对 root 以外的用户开放", "close it, as the driver writes it",
               "收回权限，与驱动写入时一致"},
    ReasonText{"file.not_plain", "a directory, a pipe, a device or a link stands where a plain file belongs",
               "应为普通文件之处是目录、管道、设备或链接", "put a plain file in its place, or name another",
               "放置普通文件，或指定其他文件"},
    ReasonText{"file.too_large", "a file is larger than it can be", "文件超出大小限制",
               "name the file that was meant", "指定正确的文件"},
};

}  // namespace

std::span<const ReasonText> file_reasons() {
  return kFileReasons;
}

}  // namespace tangram::wire
