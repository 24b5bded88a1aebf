#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <system_error>

#include "llm/checks.hpp"

namespace weft::llm {

Status check_server(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  const std::string host = server.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : server.substr(colon + 1);
  int number = 0;
  const char* end = port.data() + port.size();
  const auto [rest, error] = std::from_chars(port.data(), end, number);
  if (host.empty() || error != std::errc() || rest != end || number < 1 || number > 65535) {
    return fail(ErrorCode::invalid_argument,
                "A server is HOST:PORT with a port of 1 to 65535; this is \"{}\".", server);
  }
  addrinfo hints{};
  hints.ai_family = AF_INET;  // As ggml's RPC backend does.
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int status = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); status != 0) {
    return fail(ErrorCode::not_found, "The server {} is not known: {}.", server,
                gai_strerror(status));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
  const int connection = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
  const bool connected =
      connection >= 0 && connect(connection, address->ai_addr, address->ai_addrlen) == 0;
  const int reason = errno;
  if (connection >= 0) close(connection);
  if (connected) return {};
  return fail(ErrorCode::not_found, "Nobody answers at {}: {}.", server,
              std::generic_category().message(reason));
}

}  // namespace weft::llm
