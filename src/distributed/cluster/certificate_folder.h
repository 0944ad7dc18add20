// The folder of certificates that the tasks and clients of a cluster share: what Security::tls_dir
// names.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "carillon/cluster.h"

namespace carillon {

struct CertificateFolderOptions {
  std::string folder;  // is made when it is not there
  ClusterSpec cluster;
  std::vector<std::string> hosts;  // further names and addresses, in every task's certificate
  int days = 365;
  bool force = false;  // replaces files that are there
};

// Makes a new authority, ca.pem and ca.key, and a certificate and key for every task, worker-0.pem
// and worker-0.key, and for clients, client.pem and client.key. Returns the names of the files.
// AlreadyExists, before anything is written, when one is there.
StatusOr<std::vector<std::string>> MakeCertificateFolder(const CertificateFolderOptions& options);

// Writes a file that nobody but its owner may read. AlreadyExists when it is there, unless `force`.
Status WriteSecret(const std::string& path, std::string_view content, bool force);

}  // namespace carillon
