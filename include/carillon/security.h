// How the tasks and the clients of a job know each other.
//
//   carillon certs --out certs --cluster 'ps|ps0:2222,worker|w0:2222'
//   Server server({.cluster = …, .security = {.tls_dir = "certs"}});
#pragma once

#include <string>

namespace carillon {

// A secret that all share, certificates that say who is who, both, or neither. The same on every
// task and client. What is not given here comes from the environment: the token from
// CARILLON_TOKEN_FILE when neither of its members is set, the certificates from CARILLON_TLS_DIR,
// CARILLON_TLS_CA, CARILLON_TLS_CERT and CARILLON_TLS_KEY when none of theirs is.
//
// Files are read once, by the Server or Session that gets this; one that cannot be used (missing,
// not of this task, expired, readable by every user of the machine) is an Error that says so.
struct Security {
  // Whoever knows the token belongs to the job. It is sent with every call, so without TLS whoever
  // reads the network knows it too. At least 16 letters, digits or signs of ASCII, no spaces.
  std::string token;
  std::string token_file;  // holds the token; white space around it does not count

  // Mutual TLS: each side shows a certificate that the authority has signed. A task's names the
  // task, "worker-0.carillon", among its DNS names; nobody can act as a task with that of another.
  // Clients look for the server's host in its certificate.
  std::string tls_dir;   // as `carillon certs` makes it; stands for the three below
  std::string tls_ca;    // the authority's certificate
  std::string tls_cert;  // one's own certificate
  std::string tls_key;   // and its key
};

}  // namespace carillon
