// How the chips are: memory, load, temperature, processes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"

using ascendsim::NpuRecord;
using ascendsim::ProcessRecord;
using ascendsim::dcmi::Driver;
using ascendsim::dcmi::has_hbm;

namespace {

constexpr unsigned int kDdrMhz = 3200;
constexpr unsigned int kCtrlCpuMhz = 1900;
constexpr unsigned int kHugepageKb = 2048;

// The present values of a chip that is on the bus.
int read_present(int card, int device, NpuRecord* npu) {
  const int code = Driver::instance().read(card, device, npu);
  if (code == DCMI_OK && npu->health == ascendsim::Health::kAbsent) return DCMI_ERR_CODE_NOT_REDAY;
  return code;
}

std::uint64_t mb(std::uint64_t bytes) {
  return bytes >> 20U;
}

unsigned int memory_percent(const NpuRecord& npu) {
  if (npu.memory_bytes_total == 0) return 0;
  return static_cast<unsigned int>(npu.memory_bytes_used * 100 / npu.memory_bytes_total);
}

// Rates of engines, and not of memory that is filled.
bool is_load(int type) {
  switch (type) {
    case DCMI_UTILIZATION_RATE_AICORE:
    case DCMI_UTILIZATION_RATE_AICPU:
    case DCMI_UTILIZATION_RATE_CTRLCPU:
    case DCMI_UTILIZATION_RATE_DDR_BANDWIDTH:
    case DCMI_UTILIZATION_RATE_HBM_BANDWIDTH:
    case DCMI_UTILIZATION_RATE_VECTORCORE:
    case DCMI_UTILIZATION_RATE_NPU:
    case DCMI_UTILIZATION_RATE_AICUBE:
      return true;
    default:
      return false;
  }
}

// Many calls give one number of a chip.
template <class T, class Get>
int give(int card, int device, T* out, Get get) {
  if (out == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = read_present(card, device, &npu); code != DCMI_OK) return code;
  return get(npu);
}

}  // namespace

extern "C" {

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info* info) {
  return give(card_id, device_id, info, [info](const NpuRecord& npu) {
    if (!has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
    *info = {};
    info->memory_size = mb(npu.memory_bytes_total);
    info->freq = npu.hbm_mhz;
    info->memory_usage = mb(npu.memory_bytes_used);
    info->temp = npu.temperature_celsius;
    info->bandwith_util_rate = npu.memory_busy_percent;
    return DCMI_OK;
  });
}

int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru* info) {
  return give(card_id, device_id, info, [info](const NpuRecord& npu) {
    if (has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
    *info = {};
    info->memory_size = mb(npu.memory_bytes_total);
    info->memory_available = mb(npu.memory_bytes_total) - mb(npu.memory_bytes_used);
    info->freq = kDdrMhz;
    info->hugepagesize = kHugepageKb;
    info->utiliza = memory_percent(npu);
    return DCMI_OK;
  });
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int type, unsigned int* percent) {
  return give(card_id, device_id, percent, [type, percent](const NpuRecord& npu) {
    const bool hbm = has_hbm(npu);
    // On a cut chip the driver marks the number as not supported, and the library shows a zero beside the
    // code.
    if ((npu.flags & ascendsim::kNpuLoadUnknown) != 0 && is_load(type)) {
      *percent = 0;
      return DCMI_ERR_CODE_NOT_SUPPORT;
    }
    switch (type) {
      case DCMI_UTILIZATION_RATE_DDR:
      case DCMI_UTILIZATION_RATE_DDR_AGAIN:
        *percent = hbm ? 0 : memory_percent(npu);
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_DDR_BANDWIDTH:
        *percent = hbm ? 0 : npu.memory_busy_percent;
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_AICORE:
      case DCMI_UTILIZATION_RATE_AICUBE:
        *percent = npu.aicore_percent;
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_AICPU:
      case DCMI_UTILIZATION_RATE_CTRLCPU:
        *percent = 0;
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_HBM:
        if (!hbm) return DCMI_ERR_CODE_NOT_SUPPORT;
        *percent = memory_percent(npu);
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_HBM_BANDWIDTH:
        if (!hbm) return DCMI_ERR_CODE_NOT_SUPPORT;
        *percent = npu.memory_busy_percent;
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_VECTORCORE:
        *percent = npu.vector_percent;
        return DCMI_OK;
      case DCMI_UTILIZATION_RATE_NPU:
        *percent = std::max(npu.aicore_percent, npu.vector_percent);
        return DCMI_OK;
      default:
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    }
  });
}

int dcmi_get_device_multi_utilization_rate(int card_id, int device_id,
                                           struct dcmi_multi_utilization_info* info) {
  return give(card_id, device_id, info, [info](const NpuRecord& npu) {
    *info = {};
    if ((npu.flags & ascendsim::kNpuLoadUnknown) != 0) return DCMI_ERR_CODE_NOT_SUPPORT;
    info->aic_util = npu.aicore_percent;
    info->aiv_util = npu.vector_percent;
    info->aicore_util = npu.aicore_percent;
    info->npu_util = std::max(npu.aicore_percent, npu.vector_percent);
    return DCMI_OK;
  });
}

int dcmi_get_device_aicore_info(int card_id, int device_id, struct dcmi_aicore_info* info) {
  return give(card_id, device_id, info, [info](const NpuRecord& npu) {
    *info = {npu.aicore_mhz, npu.aicore_mhz};
    return DCMI_OK;
  });
}

int dcmi_get_device_aicpu_info(int card_id, int device_id, struct dcmi_aicpu_info* info) {
  return give(card_id, device_id, info, [info](const NpuRecord& npu) {
    *info = {};
    info->max_freq = kCtrlCpuMhz;
    info->cur_freq = kCtrlCpuMhz;
    info->aicpu_num = std::min(npu.ai_cpus, 16U);
    return DCMI_OK;
  });
}

int dcmi_get_device_dvpp_ratio_info(int card_id, int device_id, struct dcmi_dvpp_ratio* info) {
  return give(card_id, device_id, info, [info](const NpuRecord&) {
    *info = {};  // no program of this machine uses the media engines
    return DCMI_OK;
  });
}

int dcmi_get_device_temperature(int card_id, int device_id, int* celsius) {
  return give(card_id, device_id, celsius, [celsius](const NpuRecord& npu) {
    *celsius = npu.temperature_celsius;
    return DCMI_OK;
  });
}

int dcmi_get_device_power_info(int card_id, int device_id, int* power) {
  return give(card_id, device_id, power, [power](const NpuRecord& npu) {
    if (!has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
    *power = static_cast<int>(npu.power_deciwatts);
    return DCMI_OK;
  });
}

int dcmi_mcu_get_power_info(int card_id, int* power) {
  return give(card_id, 0, power, [power](const NpuRecord& npu) {
    if (has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
    *power = static_cast<int>(npu.power_deciwatts);
    return DCMI_OK;
  });
}

int dcmi_get_device_voltage(int card_id, int device_id, unsigned int* voltage) {
  return give(card_id, device_id, voltage, [voltage](const NpuRecord& npu) {
    *voltage = npu.voltage_centivolts;
    return DCMI_OK;
  });
}

int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type type, unsigned int* frequency) {
  return give(card_id, device_id, frequency, [type, frequency](const NpuRecord& npu) {
    switch (type) {
      case DCMI_FREQ_DDR:
        if (has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
        *frequency = kDdrMhz;
        return DCMI_OK;
      case DCMI_FREQ_CTRLCPU:
        *frequency = kCtrlCpuMhz;
        return DCMI_OK;
      case DCMI_FREQ_HBM:
        if (!has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
        *frequency = npu.hbm_mhz;
        return DCMI_OK;
      case DCMI_FREQ_AICORE_CURRENT:
      case DCMI_FREQ_AICORE_MAX:
      case DCMI_FREQ_VECTORCORE_CURRENT:
        *frequency = npu.aicore_mhz;
        return DCMI_OK;
    }
    return DCMI_ERR_CODE_INVALID_PARAMETER;
  });
}

int dcmi_get_device_ecc_info(int card_id, int device_id, enum dcmi_device_type type,
                             struct dcmi_ecc_info* info) {
  return give(card_id, device_id, info, [type, info](const NpuRecord& npu) {
    if (type < DCMI_DEVICE_TYPE_DDR || type > DCMI_DEVICE_TYPE_NPU) return DCMI_ERR_CODE_INVALID_PARAMETER;
    if (type == DCMI_DEVICE_TYPE_HBM && !has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
    *info = {};
    info->enable_flag = 1;
    const bool main_memory = type == (has_hbm(npu) ? DCMI_DEVICE_TYPE_HBM : DCMI_DEVICE_TYPE_DDR);
    if (!main_memory) return DCMI_OK;
    info->single_bit_error_cnt = info->total_single_bit_error_cnt = npu.ecc_single_bits;
    info->double_bit_error_cnt = info->total_double_bit_error_cnt = npu.ecc_double_bits;
    info->double_bit_isolated_pages_cnt = npu.ecc_pages;
    return DCMI_OK;
  });
}

int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info* list, int* count) {
  if (list == nullptr || count == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = read_present(card_id, device_id, &npu); code != DCMI_OK) return code;
  std::vector<ProcessRecord> processes;
  if (const int code = Driver::instance().processes(card_id, device_id, &processes); code != DCMI_OK)
    return code;
  *count = std::min<int>(static_cast<int>(processes.size()), DCMI_MAX_PROC_NUM);
  for (int i = 0; i < *count; ++i) {
    const ProcessRecord& process = processes[static_cast<std::size_t>(i)];
    list[i] = {process.host_pid, process.bytes};
  }
  return DCMI_OK;
}

}  // extern "C"
