// The agent's own memory of who has what: one file, replaced whole and synced with every change, so that what
// the driver is told is always written before.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/node/hand_out.h"

namespace tangram::kube::node {

std::string ledger_text(const std::vector<Handed>& entries);
// Nothing is passed over: what cannot be, or is there twice, makes the whole of it damaged. Errors: kDataLoss
// "node.ledger.damaged". Pure, as ledger_text().
Result<std::vector<Handed>> parse_ledger(std::string_view text);

// Not thread-safe.
class Ledger {
 public:
  explicit Ledger(std::string path) : path_(std::move(path)) {}

  // None: there is no file. Errors: kDataLoss "node.ledger.damaged", or as the system says.
  Result<std::optional<std::vector<Handed>>> read() const;
  // Durable when it returns; on an error the file is as it was.
  Result<void> write(const std::vector<Handed>& entries) const;
  // Keeps a damaged file for whoever wants to know what befell it, as "<path>.damaged".
  void set_aside() const;

 private:
  const std::string path_;
};

}  // namespace tangram::kube::node
