// What a program finds in its slice, and how far a hostile one gets. One line for each thing that it tries.
//
//   slice_tenant see
//   slice_tenant attack OWN SIBLING SOCKET LEFT    ids of slices of one NPU, the driver's socket, a folder of
//   nodes
#include <acl/acl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/protocol/connection.h"

namespace {

using namespace ascendsim;

// As seen by the vendor's two libraries.
int see() {
  if (aclInit(nullptr) != ACL_SUCCESS) return 1;
  std::uint32_t count = 0;
  aclrtGetDeviceCount(&count);
  std::printf("AscendCL devices %u\n", count);
  std::printf("AscendCL device 1: %d\n", aclrtSetDevice(1));
  if (aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) != ACL_SUCCESS) return 1;
  std::printf("AscendCL memory %zu MiB\n", total_bytes >> 20);
  std::int64_t cores = 0;
  aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores);
  std::printf("AscendCL AI cores %lld\n", static_cast<long long>(cores));
  if (dcmi_init() != DCMI_OK) return 1;
  int cards = 0;
  int list[DCMI_MAX_CARD_NUM] = {};
  if (dcmi_get_card_list(&cards, &list[0], DCMI_MAX_CARD_NUM) != DCMI_OK) return 1;
  std::printf("DCMI cards %d\n", cards);
  int devices = 0;
  dcmi_get_device_num_in_card(list[0], &devices);
  std::printf("DCMI devices %d\n", devices);
  dcmi_chip_info chip{};
  dcmi_get_device_chip_info(list[0], 0, &chip);
  std::printf("DCMI chip %s\n", reinterpret_cast<const char*>(&chip.chip_name[0]));
  return 0;
}

// In words; a node that is allowed answers so, too, because no driver stands behind its number.
std::string open_result(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return std::strerror(errno);
  close(fd);
  return "opened";
}

void try_open(const std::string& path) {
  std::printf("open %s: %s\n", path.c_str(), open_result(path).c_str());
}

void try_nodes_in(const std::string& folder) {
  int all = 0;
  int reached = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++all;
    if (open_result(entry.path().string()) != std::strerror(EPERM)) ++reached;
  }
  std::printf("open %d nodes left lying about: %d opened or allowed\n", all, reached);
}

void try_node(const std::string& what, unsigned major, unsigned minor) {
  const std::string path = "made-" + what;
  const bool made = mknod(path.c_str(), S_IFCHR | 0666, makedev(major, minor)) == 0;
  std::printf("mknod %s: %s\n", what.c_str(), made ? "made" : std::strerror(errno));
}

void try_destroy(const char* what, int card, unsigned int id) {
  std::printf("destroy %s: %d\n", what, dcmi_set_destroy_vdevice(card, 0, id));
}

void attack_library(unsigned own, unsigned sibling) {
  int cards = 0;
  int list[DCMI_MAX_CARD_NUM] = {};
  if (dcmi_init() != DCMI_OK || dcmi_get_card_list(&cards, &list[0], DCMI_MAX_CARD_NUM) != DCMI_OK) return;
  const int card = list[0];
  for (const char* const name : {"vir01", "vir04"}) {
    dcmi_create_vdev_res_stru wanted{};
    wanted.vdev_id = wanted.vfg_id = 0xFFFFFFFF;
    std::strcpy(&wanted.template_name[0], name);
    dcmi_create_vdev_out made{};
    std::printf("create %s: %d\n", name, dcmi_create_vdevice(card, 0, &wanted, &made));
  }
  try_destroy("own", card, own);
  try_destroy("sibling", card, sibling);
  try_destroy("all", card, DCMI_VDEV_ALL);
  std::printf("device-share: %d\n", dcmi_set_device_share_enable(card, 0, 1));
  std::printf("vnpu-mode: %d\n", dcmi_set_vdevice_mode(1));
  std::printf("recover: %d\n", dcmi_set_vnpu_config_recover_mode(1));
  std::printf("reset: %d\n", dcmi_set_device_reset(card, 0, INBAND_CHANNEL));
}

// Past the library, in the driver's own words: every number that there could be.
void attack_driver(unsigned sibling, const std::string& socket) {
  Connection connection = Connection::open(socket);
  AttachReply attached{};
  std::vector<Connection::NoBody>* none = nullptr;
  std::vector<Descriptor> descriptors;
  if (!connection.call(RequestType::kAttach, 0, Connection::NoBody{}, &attached, none, &descriptors).ok()) {
    std::printf("driver: no attach\n");
    return;
  }
  int opened = 0;
  int cut = 0;
  for (std::uint32_t npu = 0; npu < 256; ++npu) {
    OpenDeviceReply device{};
    if (connection.call(RequestType::kOpenDevice, npu, Connection::NoBody{}, &device).ok()) ++opened;
    const CreateVdevBody wanted{kAnyNumber, kAnyNumber, "vir01"};
    CreateVdevReply made{};
    if (connection.call(RequestType::kCreateVdev, npu, wanted, &made).ok()) ++cut;
    if (connection.send(RequestType::kDestroyVdev, npu, DestroyVdevBody{sibling, 0}).ok()) ++cut;
    if (connection.send(RequestType::kDestroyVdev, npu, DestroyVdevBody{kAllVdevs, 0}).ok()) ++cut;
    InjectBody removal{};
    removal.injection = Injection::kLeakVdev;
    std::strcpy(&removal.text[0], "vir01");
    if (connection.send(RequestType::kInject, npu, removal).ok()) ++cut;
  }
  std::printf("driver: %d opened, %d changed\n", opened, cut);
}

int attack(unsigned own, unsigned sibling, const std::string& socket, const std::string& left) {
  struct stat node{};
  const std::string mine = "/dev/davinci" + std::to_string(own);
  if (stat(mine.c_str(), &node) != 0) return 1;
  const unsigned driver = major(node.st_rdev);
  try_open(mine);
  const std::string other = "davinci" + std::to_string(sibling);
  for (const std::string& name : {std::string("davinci0"), other, "v" + other}) try_open("/dev/" + name);
  try_node("whole", driver, 0);
  try_node("sibling", driver, sibling);
  try_nodes_in(left);
  attack_library(own, sibling);
  attack_driver(sibling, socket);
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argument_count > 1 ? arguments[1] : "";
  if (what == "see") return see();
  if (what == "attack" && argument_count == 6) {
    return attack(static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10)),
                  static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10)), arguments[4], arguments[5]);
  }
  return 2;
}
