// UCX, loaded when a cluster's first task could use it: a program without a cluster does without
// it, and so does one on a machine where it is not installed.
#pragma once

#include <ucp/api/ucp.h>

#include "base/status.h"

namespace carillon {

// The functions that we use of it.
struct UcxLibrary {
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_init_version) init = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_signal) worker_signal = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close = nullptr;
  decltype(&::ucp_am_send_nbx) am_send = nullptr;
  decltype(&::ucp_am_recv_data_nbx) am_recv_data = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;
};

// NotFound says which package it is in. Thread-safe; the library stays loaded.
StatusOr<UcxLibrary> LoadUcx();

}  // namespace carillon
