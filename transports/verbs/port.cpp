// Looking for an RDMA port, and saying why there is none.
#include "transports/verbs/port.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace coracle::internals::verbs {
namespace {

constexpr const char* kNoDeviceRemedy =
    "load the driver of the card and ib_uverbs (`modprobe mlx5_ib ib_uverbs`); without a card, soft-RoCE: "
    "`modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0`";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class T>
bool parse_number(std::string_view text, std::optional<T>& number) {
  if (text.empty()) return true;
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

bool is_ipv4_mapped(const ibv_gid& gid) noexcept {
  static constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), gid.raw);
}

bool is_link_local(const ibv_gid& gid) noexcept {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

/// Routable addresses first, RoCE v2 before v1: 0 is the worst.
int worth(const ibv_gid_entry& entry) noexcept {
  if (entry.gid_type == IBV_GID_TYPE_IB) return 4;
  const int version = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 4 : 0;
  return version + (is_ipv4_mapped(entry.gid) ? 3 : is_link_local(entry.gid) ? 1 : 2);
}

const char* type_name(std::uint32_t type) noexcept {
  return type == IBV_GID_TYPE_IB ? "InfiniBand" : type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "RoCE v1";
}

bool choose_gid(Port& port, std::optional<int> selection) {
  int best = -1;
  for (int index = selection.value_or(0); index < (selection ? *selection + 1 : port.attributes.gid_tbl_len); ++index) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(port.context.get(), port.number, static_cast<std::uint32_t>(index), &entry, 0) != 0) continue;
    if (worth(entry) <= best) continue;
    best = worth(entry);
    port.gid_index = index;
    port.gid = entry.gid;
  }
  return best >= 0;
}

std::string errno_text(int error) {
  return std::strerror(error);
}

Support refuse(std::string reason, std::string remedy) {
  return {false, false, std::move(reason), std::move(remedy)};
}

/// Devices without hardware lie in the tree of virtual ones.
bool is_software(ibv_device* device) {
  const std::unique_ptr<char, Ender<std::free>> path(::realpath(device->ibdev_path, nullptr));
  return path && std::string_view(path.get()).find("/devices/virtual/") != std::string_view::npos;
}

/// Opens `device` if one of its ports is active and fits.
std::optional<Port> try_device(ibv_device* device, const PortSelection& selection, Support& support) {
  Port port;
  port.name = ibv_get_device_name(device);
  port.software = is_software(device);
  port.context.reset(ibv_open_device(device));
  if (!port.context) {
    const int error = errno;
    support = refuse(fmt::format("{} can't be opened: {}", port.name, errno_text(error)),
                     error == EACCES || error == EPERM
                         ? "give the user read and write access to /dev/infiniband/uverbs* (mode or group; in a "
                           "container pass the devices in)"
                         : "see `dmesg` and `ibv_devinfo`");
    return std::nullopt;
  }
  port.domain.reset(ibv_alloc_pd(port.context.get()));
  if (!port.domain || ibv_query_device(port.context.get(), &port.device) != 0) {
    support = refuse(fmt::format("{} can't be used: {}", port.name, errno_text(errno)), "see `ibv_devinfo`");
    return std::nullopt;
  }
  const unsigned first = selection.port.value_or(1);
  const unsigned last = selection.port.value_or(port.device.phys_port_cnt);
  for (unsigned number = first; number <= last; ++number) {
    port.number = static_cast<std::uint8_t>(number);
    if (ibv_query_port(port.context.get(), port.number, &port.attributes) != 0) {
      support = refuse(fmt::format("{} has no port {}", port.name, number), "see `ibv_devinfo` for those there are");
    } else if (port.attributes.state != IBV_PORT_ACTIVE) {
      support = refuse(fmt::format("{} port {} is {}", port.name, number, ibv_port_state_str(port.attributes.state)),
                       port.ethernet() ? "set its network interface up (`ip link set DEV up`)"
                                       : "check the cable and subnet manager");
    } else if (!choose_gid(port, selection.gid_index)) {
      support = refuse(fmt::format("{} port {} has no {}", port.name, number,
                                   selection.gid_index ? fmt::format("GID {}", *selection.gid_index) : "GID"),
                       "give its network interface an address; `ibv_devinfo -v` lists the GIDs");
    } else {
      support = {true, port.software, port.describe(), ""};
      return port;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Port::describe() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  ibv_gid_entry entry{};
  const bool known = ibv_query_gid_ex(context.get(), number, static_cast<std::uint32_t>(gid_index), &entry, 0) == 0;
  return fmt::format("{} port {}, GID {} {} ({}{})", name, number, gid_index, text.data(),
                     known ? type_name(entry.gid_type) : "unknown type", software ? ", in software" : "");
}

std::optional<PortSelection> parse_selection(std::string_view text, std::uint32_t local_index) {
  const auto selections = split(text, ',');
  const auto parts = split(selections[local_index % selections.size()], ':');
  PortSelection selection;
  if (parts.size() > 3 || parts[0].empty()) return std::nullopt;
  selection.device = parts[0];
  if (parts.size() > 1 && !parse_number(parts[1], selection.port)) return std::nullopt;
  if (parts.size() > 2 && !parse_number(parts[2], selection.gid_index)) return std::nullopt;
  return selection;
}

std::optional<Port> open_port(std::uint32_t local_index, Support& support) {
  PortSelection selection;
  if (const char* text = std::getenv("CORACLE_VERBS_DEVICE"); text != nullptr && *text != '\0') {
    const auto parsed = parse_selection(text, local_index);
    if (!parsed) {
      support = refuse(fmt::format("CORACLE_VERBS_DEVICE={} is malformed", text),
                       "write DEVICE, DEVICE:PORT or DEVICE:PORT:GID; commas between several");
      return std::nullopt;
    }
    selection = *parsed;
  }
  int count = 0;
  errno = 0;
  const std::unique_ptr<ibv_device*, Ender<ibv_free_device_list>> devices(ibv_get_device_list(&count));
  if (!devices || count == 0) {
    const int error = devices ? 0 : errno;
    support = refuse(error == 0 || error == ENOSYS ? std::string("there is no RDMA device")
                                                   : fmt::format("RDMA devices can't be listed: {}", errno_text(error)),
                     kNoDeviceRemedy);
    return std::nullopt;
  }
  std::string names;
  for (int i = 0; i < count; ++i) {
    ibv_device* device = devices.get()[i];
    const std::string name = ibv_get_device_name(device);
    names += (names.empty() ? "" : ", ") + name;
    if (!selection.device.empty() && selection.device != name) continue;
    std::optional<Port> port = try_device(device, selection, support);
    if (port || !selection.device.empty()) return port;
  }
  if (!selection.device.empty())
    support = refuse(fmt::format("there is no RDMA device {} here", selection.device),
                     fmt::format("CORACLE_VERBS_DEVICE may name one of: {}", names));
  return std::nullopt;
}

}  // namespace coracle::internals::verbs
