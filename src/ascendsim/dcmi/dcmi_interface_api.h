// The DCMI ABI of the simulated libdcmi.so: names, layouts (LP64) and codes as published by the vendor,
// declared anew. Plain C, so that C programs can include it. Thread-safety: every function may be called from
// any thread after dcmi_init; calls are serialised inside. Memory sizes are MB, power 0.1 W, voltage 0.01 V,
// frequency MHz.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define DCMI_OK 0
#define DCMI_ERR_CODE_INVALID_PARAMETER (-8001)
#define DCMI_ERR_CODE_OPER_NOT_PERMITTED (-8002)
#define DCMI_ERR_CODE_INNER_ERR (-8005)
#define DCMI_ERR_CODE_TIME_OUT (-8006)
#define DCMI_ERR_CODE_INVALID_DEVICE_ID (-8007)
#define DCMI_ERR_CODE_DEVICE_NOT_EXIST (-8008)
#define DCMI_ERR_CODE_NOT_REDAY (-8012)
#define DCMI_ERR_CODE_NOT_SUPPORT_IN_CONTAINER (-8013)
#define DCMI_ERR_CODE_FILE_OPERATE_FAIL (-8014)
#define DCMI_ERR_CODE_RESOURCE_OCCUPIED (-8020)
#define DCMI_ERR_CODE_NOT_SUPPORT (-8255)

#define DCMI_MAX_CARD_NUM 64
#define DCMI_MAX_PROC_NUM 32
#define DCMI_HEALTH_ABSENT 0xFFFFFFFFU
#define DCMI_VDEV_AUTO 0xFFFFFFFFU
#define DCMI_VDEV_ALL 65535
#define DCMI_VDEV_MAX 32

// NOLINTBEGIN(readability-identifier-naming): the vendor's spelling
enum dcmi_unit_type { NPU_TYPE = 0, MCU_TYPE = 1, CPU_TYPE = 2, INVALID_TYPE = 0xFF };
enum dcmi_die_type { NDIE = 0, VDIE = 1, DDIE = 2 };
enum dcmi_boot_status {
  DCMI_BOOT_STATUS_UNINIT = 0,
  DCMI_BOOT_STATUS_BIOS = 1,
  DCMI_BOOT_STATUS_OS = 2,
  DCMI_BOOT_STATUS_FINISH = 3,
  DCMI_BOOT_STATUS_START_FINISH = 16
};
enum dcmi_reset_channel { OUTBAND_CHANNEL = 0, INBAND_CHANNEL = 1 };
enum dcmi_event_type { DCMI_DMS_FAULT_EVENT = 0 };
enum dcmi_multi_die_policy { DCMI_MULTI_DIE_UNION = 0, DCMI_MULTI_DIE_INDEPENDENT = 1 };
enum dcmi_rdfx_detect_result { DCMI_RDFX_DETECT_OK = 0 };
enum dcmi_device_type {
  DCMI_DEVICE_TYPE_DDR = 0,
  DCMI_DEVICE_TYPE_SRAM,
  DCMI_DEVICE_TYPE_HBM,
  DCMI_DEVICE_TYPE_NPU
};
enum dcmi_freq_type {
  DCMI_FREQ_DDR = 1,
  DCMI_FREQ_CTRLCPU = 2,
  DCMI_FREQ_HBM = 6,
  DCMI_FREQ_AICORE_CURRENT = 7,
  DCMI_FREQ_AICORE_MAX = 9,
  DCMI_FREQ_VECTORCORE_CURRENT = 12
};
enum dcmi_topo_type {
  DCMI_TOPO_TYPE_SELF = 0,
  DCMI_TOPO_TYPE_SYS = 1,
  DCMI_TOPO_TYPE_PHB = 2,
  DCMI_TOPO_TYPE_HCCS = 3,
  DCMI_TOPO_TYPE_PXB = 4,
  DCMI_TOPO_TYPE_PIX = 5
};
enum dcmi_utilization_type {
  DCMI_UTILIZATION_RATE_DDR = 1,
  DCMI_UTILIZATION_RATE_AICORE = 2,
  DCMI_UTILIZATION_RATE_AICPU = 3,
  DCMI_UTILIZATION_RATE_CTRLCPU = 4,
  DCMI_UTILIZATION_RATE_DDR_BANDWIDTH = 5,
  DCMI_UTILIZATION_RATE_HBM = 6,
  DCMI_UTILIZATION_RATE_DDR_AGAIN = 8,
  DCMI_UTILIZATION_RATE_HBM_BANDWIDTH = 10,
  DCMI_UTILIZATION_RATE_VECTORCORE = 12,
  DCMI_UTILIZATION_RATE_NPU = 13,
  DCMI_UTILIZATION_RATE_AICUBE = 14
};
enum dcmi_main_cmd { DCMI_MAIN_CMD_VDEV_MNG = 52 };
enum dcmi_vdev_mng_sub_cmd {
  DCMI_VMNG_SUB_CMD_GET_VDEV_RESOURCE = 0,
  DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE = 1,
  DCMI_VMNG_SUB_CMD_GET_FREE_RESOURCE = 2,
  DCMI_VMNG_SUB_CMD_SET_SRIOV_SWITCH = 3,
  DCMI_VMNG_SUB_CMD_GET_VDEV_ACTIVITY = 5
};
// NOLINTEND(readability-identifier-naming)

struct dcmi_chip_info {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned int aicore_cnt;
};

struct dcmi_chip_info_v2 {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned int aicore_cnt;
  unsigned char npu_name[32];
};

struct dcmi_board_info {
  unsigned int board_id;
  unsigned int pcb_id;
  unsigned int bom_id;
  unsigned int slot_id;
};

struct dcmi_elabel_info {
  char product_name[256];
  char model[256];
  char manufacturer[256];
  char manufacturer_date[256];
  char serial_number[256];
};

struct dcmi_pcie_info_all {
  unsigned int venderid;
  unsigned int subvenderid;
  unsigned int deviceid;
  unsigned int subdeviceid;
  int domain;
  unsigned int bdf_busid;
  unsigned int bdf_deviceid;
  unsigned int bdf_funcid;
  unsigned char reserve[32];
};

struct dcmi_die_id {
  unsigned int soc_die[5];
};

struct dcmi_hbm_info {
  unsigned long long memory_size;
  unsigned int freq;
  unsigned long long memory_usage;
  int temp;
  unsigned int bandwith_util_rate;
};

struct dcmi_get_memory_info_stru {
  unsigned long long memory_size;
  unsigned long long memory_available;
  unsigned int freq;
  unsigned long hugepagesize;
  unsigned long hugepages_total;
  unsigned long hugepages_free;
  unsigned int utiliza;
  unsigned char reserve[60];
};

struct dcmi_multi_utilization_info {
  unsigned int aic_util;
  unsigned int aiv_util;
  unsigned int aicore_util;
  unsigned int npu_util;
  unsigned int reserved[8];
};

struct dcmi_aicore_info {
  unsigned int freq;
  unsigned int cur_freq;
};

struct dcmi_aicpu_info {
  unsigned int max_freq;
  unsigned int cur_freq;
  unsigned int aicpu_num;
  unsigned int util_rate[16];
};

struct dcmi_ecc_info {
  int enable_flag;
  unsigned int single_bit_error_cnt;
  unsigned int double_bit_error_cnt;
  unsigned int total_single_bit_error_cnt;
  unsigned int total_double_bit_error_cnt;
  unsigned int single_bit_isolated_pages_cnt;
  unsigned int double_bit_isolated_pages_cnt;
};

struct dcmi_proc_mem_info {
  int proc_id;
  unsigned long proc_mem_usage;  // bytes
};

// What the driver does not say is all ones, or -1 in a float.
struct dcmi_base_resource {
  unsigned long long token;
  unsigned long long token_max;
  unsigned long long task_timeout;
  unsigned int vfg_id;
  unsigned char vip_mode;
  unsigned char reserved[31];
};

struct dcmi_computing_resource {
  float aic;
  float aiv;
  unsigned short dsa;
  unsigned short rtsq;
  unsigned short acsq;
  unsigned short cdqm;
  unsigned short c_core;
  unsigned short ffts;
  unsigned short sdma;
  unsigned short pcie_dma;
  unsigned long long memory_size;  // MB
  unsigned int event_id;
  unsigned int notify_id;
  unsigned int stream_id;
  unsigned int model_id;
  unsigned short topic_schedule_aicpu;
  unsigned short host_ctrl_cpu;
  unsigned short host_aicpu;
  unsigned short device_aicpu;
  unsigned short topic_ctrl_cpu_slot;
  unsigned int vdev_aicore_utilization;  // percent
  unsigned long long vdev_memory_total;  // KB
  unsigned long long vdev_memory_free;   // KB
  unsigned char reserved[16];
};

struct dcmi_media_resource {
  float jpegd;
  float jpege;
  float vpc;
  float vdec;
  float pngd;
  float venc;
  unsigned char reserved[32];
};

struct dcmi_create_vdev_res_stru {
  unsigned int vdev_id;  // DCMI_VDEV_AUTO: the driver chooses
  unsigned int vfg_id;   // the same
  char template_name[32];
  unsigned char reserved[64];
};

struct dcmi_create_vdev_out {
  unsigned int vdev_id;
  unsigned int pcie_bus;
  unsigned int pcie_device;
  unsigned int pcie_func;
  unsigned int vfg_id;
  unsigned char reserved[32];
};

struct dcmi_vdev_query_info {
  char name[16];
  unsigned int status;
  unsigned int is_container_used;
  unsigned int vfid;
  unsigned int vfg_id;
  unsigned long long container_id;
  struct dcmi_base_resource base;
  struct dcmi_computing_resource computing;
  struct dcmi_media_resource media;
};

struct dcmi_vdev_query_stru {
  unsigned int vdev_id;
  struct dcmi_vdev_query_info query_info;
};

struct dcmi_soc_free_resource {
  unsigned int vfg_num;
  unsigned int vfg_bitmap;
  struct dcmi_base_resource base;
  struct dcmi_computing_resource computing;
  struct dcmi_media_resource media;
};

struct dcmi_soc_total_resource {
  unsigned int vdev_num;
  unsigned int vdev_id[DCMI_VDEV_MAX];
  unsigned int vfg_num;
  unsigned int vfg_bitmap;
  struct dcmi_base_resource base;
  struct dcmi_computing_resource computing;
  struct dcmi_media_resource media;
};

struct dcmi_dms_fault_event {
  unsigned int event_id;
  unsigned short deviceid;  // logic id
  unsigned char node_type;
  unsigned char node_id;
  unsigned char sub_node_type;
  unsigned char sub_node_id;
  unsigned char severity;   // 0 suggestion, 1 minor, 2 major, 3 critical
  unsigned char assertion;  // 0 over, 1 began, 2 happened once
  int event_serial_num;
  int notify_serial_num;
  unsigned long long alarm_raised_time;  // ms since 1970
  char event_name[256];
  char additional_info[32];
  unsigned char os_id;
  unsigned short node_type_ex;
  unsigned short sub_node_type_ex;
  unsigned char reserved[26];
};

struct dcmi_event {
  enum dcmi_event_type type;
  union {
    struct dcmi_dms_fault_event dms_event;
  } event_t;
};

struct dcmi_event_filter {
  unsigned long long filter_flag;  // 1: that event_id, 2: that severity or worse, 4: that node_type
  unsigned int event_id;
  unsigned char severity;
  unsigned char node_type;
  unsigned char reserved[32];
};

typedef void (*dcmi_fault_event_callback)(struct dcmi_event* event);

struct dcmi_dvpp_ratio {
  int vdec_ratio;
  int vpc_ratio;
  int venc_ratio;
  int jpege_ratio;
  int jpegd_ratio;
};

int dcmi_init(void);
int dcmi_get_dcmi_version(char* version, unsigned int length);
int dcmi_get_driver_version(char* version, unsigned int length);
int dcmi_get_card_list(int* card_count, int* card_list, int list_length);
int dcmi_get_card_num_list(int* card_count, int* card_list, int list_length);
int dcmi_get_device_num_in_card(int card_id, int* device_count);
int dcmi_get_device_id_in_card(int card_id, int* device_id_max, int* mcu_id, int* cpu_id);
int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type* type);
int dcmi_get_device_logic_id(int* logic_id, int card_id, int device_id);
int dcmi_get_card_id_device_id_from_logicid(int* card_id, int* device_id, unsigned int logic_id);
int dcmi_get_card_id_device_id_from_phyid(int* card_id, int* device_id, unsigned int phy_id);
int dcmi_get_device_phyid_from_logicid(unsigned int logic_id, unsigned int* phy_id);
int dcmi_get_device_logicid_from_phyid(unsigned int phy_id, unsigned int* logic_id);
int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info* info);
int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2* info);
int dcmi_get_product_type(int card_id, int device_id, char* product_type, int length);
int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info* info);
int dcmi_get_mainboard_id(int card_id, int device_id, unsigned int* mainboard_id);
int dcmi_get_card_elabel_v2(int card_id, struct dcmi_elabel_info* info);
int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all* info);
int dcmi_get_device_die_v2(int card_id, int device_id, enum dcmi_die_type type, struct dcmi_die_id* die);
int dcmi_get_npu_work_mode(int card_id, unsigned char* mode);
int dcmi_get_topo_info_by_device_id(int card_a, int device_a, int card_b, int device_b, int* type);
int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char* text, int* length);

int dcmi_get_device_health(int card_id, int device_id, unsigned int* health);
int dcmi_get_device_errorcode_v2(int card_id, int device_id, int* count, unsigned int* list,
                                 unsigned int length);
int dcmi_get_device_errorcode_string(int card_id, int device_id, unsigned int code, unsigned char* text,
                                     int size);
int dcmi_subscribe_fault_event(int card_id, int device_id, struct dcmi_event_filter filter,
                               dcmi_fault_event_callback callback);
int dcmi_get_fault_event(int card_id, int device_id, int timeout, struct dcmi_event_filter filter,
                         struct dcmi_event* event);
int dcmi_get_device_current_fault_event(int card_id, int device_id, struct dcmi_event* list, int length,
                                        int* count);
int dcmi_set_device_pre_reset(int card_id, int device_id);
int dcmi_pre_reset_soc(int card_id, int device_id);
int dcmi_set_device_reset(int card_id, int device_id, enum dcmi_reset_channel channel);
int dcmi_set_device_rescan(int card_id, int device_id);
int dcmi_rescan_soc(int card_id, int device_id);
int dcmi_get_device_outband_channel_state(int card_id, int device_id, int* state);
int dcmi_get_driver_health(unsigned int* health);
int dcmi_get_driver_errorcode(int* count, unsigned int* list, unsigned int length);
int dcmi_get_device_network_health(int card_id, int device_id, enum dcmi_rdfx_detect_result* result);
int dcmi_get_device_boot_status(int card_id, int device_id, enum dcmi_boot_status* status);

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info* info);
int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru* info);
int dcmi_get_device_utilization_rate(int card_id, int device_id, int type, unsigned int* percent);
int dcmi_get_device_multi_utilization_rate(int card_id, int device_id,
                                           struct dcmi_multi_utilization_info* info);
int dcmi_get_device_aicore_info(int card_id, int device_id, struct dcmi_aicore_info* info);
int dcmi_get_device_aicpu_info(int card_id, int device_id, struct dcmi_aicpu_info* info);
int dcmi_get_device_dvpp_ratio_info(int card_id, int device_id, struct dcmi_dvpp_ratio* info);
int dcmi_get_device_temperature(int card_id, int device_id, int* celsius);
int dcmi_get_device_power_info(int card_id, int device_id, int* power);
int dcmi_mcu_get_power_info(int card_id, int* power);
int dcmi_get_device_voltage(int card_id, int device_id, unsigned int* voltage);
int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type type, unsigned int* frequency);
int dcmi_get_device_ecc_info(int card_id, int device_id, enum dcmi_device_type type,
                             struct dcmi_ecc_info* info);
int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info* list, int* count);

int dcmi_create_vdevice(int card_id, int device_id, struct dcmi_create_vdev_res_stru* wanted,
                        struct dcmi_create_vdev_out* made);
int dcmi_set_destroy_vdevice(int card_id, int device_id, unsigned int vdev_id);
int dcmi_get_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                         void* buffer, unsigned int* size);
int dcmi_set_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                         const void* buffer, unsigned int size);
int dcmi_get_vdevice_mode(int* mode);
int dcmi_set_vdevice_mode(int mode);
int dcmi_get_vnpu_config_recover_mode(unsigned int* mode);
int dcmi_set_vnpu_config_recover_mode(unsigned int mode);
int dcmi_get_device_share_enable(int card_id, int device_id, int* enabled);
int dcmi_set_device_share_enable(int card_id, int device_id, int enabled);
int dcmi_get_device_share_config_recover_mode(unsigned int* mode);
int dcmi_set_device_share_config_recover_mode(unsigned int mode);
int dcmi_get_multi_die_policy(enum dcmi_multi_die_policy* policy);
int dcmi_set_multi_die_policy(enum dcmi_multi_die_policy policy);

#ifdef __cplusplus
}

static_assert(sizeof(dcmi_chip_info) == 100 && sizeof(dcmi_chip_info_v2) == 132);
static_assert(sizeof(dcmi_board_info) == 16 && sizeof(dcmi_elabel_info) == 1280);
static_assert(sizeof(dcmi_pcie_info_all) == 64 && sizeof(dcmi_die_id) == 20);
static_assert(sizeof(dcmi_hbm_info) == 32 && sizeof(dcmi_get_memory_info_stru) == 112);
static_assert(sizeof(dcmi_multi_utilization_info) == 48 && sizeof(dcmi_ecc_info) == 28);
static_assert(sizeof(dcmi_proc_mem_info) == 16);
static_assert(sizeof(dcmi_base_resource) == 64 && sizeof(dcmi_computing_resource) == 96);
static_assert(sizeof(dcmi_media_resource) == 56 && sizeof(dcmi_create_vdev_res_stru) == 104);
static_assert(sizeof(dcmi_create_vdev_out) == 52 && sizeof(dcmi_vdev_query_info) == 256);
static_assert(sizeof(dcmi_vdev_query_stru) == 264 && sizeof(dcmi_soc_free_resource) == 224);
static_assert(sizeof(dcmi_soc_total_resource) == 360);
static_assert(sizeof(dcmi_dms_fault_event) == 352 && sizeof(dcmi_event) == 360);
static_assert(sizeof(dcmi_event_filter) == 48);
#endif
