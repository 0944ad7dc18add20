#include "distributed/cluster/certificate_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/certificates.h"
#include "base/env.h"
#include "base/strings.h"
#include "distributed/cluster/credentials.h"

namespace carillon {
namespace {

Status IsThere(const std::string& path) {
  return absl::AlreadyExistsError(
      StrCat(path, " is there already: say --force to replace it, or choose another place"));
}

Status Write(const std::string& path, std::string_view content, mode_t mode, bool force) {
  // A name of its own first: whoever opens the file sees all of it, and never with wider rights.
  const std::string made = path + ".new";
  unlink(made.c_str());
  const int fd = open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return absl::UnavailableError(StrCat(made, ": ", std::strerror(errno)));
  size_t done = 0;
  bool ok = fchmod(fd, mode) == 0;  // whatever the umask says
  while (ok && done < content.size()) {
    const ssize_t size = write(fd, content.data() + done, content.size() - done);
    if (size > 0) done += static_cast<size_t>(size);
    ok = size > 0 || errno == EINTR;
  }
  ok = close(fd) == 0 && ok;
  // A link, unlike a renaming, does not replace.
  if (ok) ok = (force ? rename(made.c_str(), path.c_str()) : link(made.c_str(), path.c_str())) == 0;
  const int error = errno;
  unlink(made.c_str());
  if (ok) return absl::OkStatus();
  if (error == EEXIST) return IsThere(path);
  return absl::UnavailableError(StrCat(path, ": ", std::strerror(error)));
}

std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

// A host of that name would be a task.
Status CheckHost(const std::string& host) {
  if (!host.ends_with(kIdentityDomain)) return absl::OkStatus();
  return InvalidArgument("the host '", host, "': names that end in ", kIdentityDomain,
                         " say which task a certificate is for");
}

}  // namespace

Status WriteSecret(const std::string& path, std::string_view content, bool force) {
  return Write(path, content, 0600, force);
}

StatusOr<std::vector<std::string>> MakeCertificateFolder(const CertificateFolderOptions& options) {
  std::vector<std::pair<std::string, Certificate>> made;
  CARILLON_ASSIGN_OR_RETURN(const Certificate authority,
                            MakeAuthority("a Carillon cluster", options.days));
  made.emplace_back("ca", authority);
  for (const std::string& job : options.cluster.jobs()) {
    for (const auto& [task, address] : options.cluster.tasks(job)) {
      const std::string owner = CertificateOwner(job, task);
      std::vector<std::string> hosts = options.hosts;
      if (std::ranges::find(hosts, HostOf(address)) == hosts.end())
        hosts.push_back(HostOf(address));
      for (const std::string& host : hosts) CARILLON_RETURN_IF_ERROR(CheckHost(host));
      CARILLON_ASSIGN_OR_RETURN(
          Certificate certificate,
          MakeCertificate({.name = IdentityOf(owner), .hosts = hosts, .days = options.days},
                          authority));
      made.emplace_back(owner, std::move(certificate));
    }
  }
  CARILLON_ASSIGN_OR_RETURN(
      Certificate client,
      MakeCertificate(
          {.name = IdentityOf(kClientOwner), .hosts = {}, .can_serve = false, .days = options.days},
          authority));
  made.emplace_back(kClientOwner, std::move(client));

  CARILLON_RETURN_IF_ERROR(PosixEnv().MakeDirectories(options.folder));
  std::vector<std::string> names;
  for (const auto& [owner, certificate] : made) {
    for (const char* suffix : {".pem", ".key"}) names.push_back(owner + suffix);
  }
  for (const std::string& name : names) {
    if (const std::string path = JoinPath(options.folder, name);
        !options.force && PosixEnv().Exists(path))
      return IsThere(path);
  }
  for (const auto& [owner, certificate] : made) {
    const std::string path = JoinPath(options.folder, owner);
    CARILLON_RETURN_IF_ERROR(Write(path + ".pem", certificate.certificate, 0644, options.force));
    CARILLON_RETURN_IF_ERROR(WriteSecret(path + ".key", certificate.key, options.force));
  }
  return names;
}

}  // namespace carillon
