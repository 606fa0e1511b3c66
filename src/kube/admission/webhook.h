// The webhook's side of HTTP: POST /pods with an AdmissionReview, GET /healthz. Thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "kube/admission/cluster.h"
#include "kube/admission/review.h"
#include "net/server.h"

namespace tangram::kube::admission {

// Asked for every review, so that chips may be added while it runs. Thread-safe; never null.
using SettingsSource = std::function<std::shared_ptr<const Settings>()>;

// For net::HttpServer. What it refuses, it refuses inside of the review (HTTP 200); other statuses are for
// what is no review.
net::Handler make_webhook(SettingsSource settings, std::shared_ptr<const Cluster> cluster);

// Limits for an address that is called by API servers alone, from few addresses and often at once.
net::ServerLimits webhook_limits();

}  // namespace tangram::kube::admission
