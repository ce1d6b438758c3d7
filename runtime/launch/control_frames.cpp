// Field by field, so that no byte from elsewhere becomes an enumeration or a bool unchecked.
#include "runtime/launch/control_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {
namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw Error(Errc::bad_input, "malformed message of a launcher: " + what);
}

template <class Enum>
Enum checked(std::uint32_t value, Enum last, const char* what) {
  if (value > static_cast<std::uint32_t>(last)) malformed(fmt::format("{} {}", what, value));
  return static_cast<Enum>(value);
}

bool read_flag(WireReader& reader) {
  return reader.read<std::uint8_t>() != 0;
}

template <class Enum>
void write_enum(WireWriter& writer, Enum value) {
  writer.write(static_cast<std::uint32_t>(value));
}

/// How many, then each by `write_one`.
template <class Item>
void write_each(WireWriter& writer, const std::vector<Item>& items, void (*write_one)(WireWriter&, const Item&)) {
  writer.write(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) write_one(writer, item);
}

template <class Item>
std::vector<Item> read_each(WireReader& reader, Item (*read_one)(WireReader&)) {
  std::vector<Item> items;
  const auto count = reader.read<std::uint32_t>();
  // No room is taken for what was only announced: the reader throws at its end.
  for (std::uint32_t i = 0; i < count; ++i) items.push_back(read_one(reader));
  return items;
}

void write_network(WireWriter& writer, const NetworkOptions& network) {
  writer.write(network.silence_limit_ns);
  writer.write(network.connections_max);
  write_enum(writer, network.transport);
  writer.write(static_cast<std::uint8_t>(network.survive));
}

NetworkOptions read_network(WireReader& reader) {
  NetworkOptions network;
  network.silence_limit_ns = reader.read<std::uint64_t>();
  network.connections_max = reader.read<std::uint32_t>();
  network.transport = checked(reader.read<std::uint32_t>(), RemoteTransport::tca, "transport");
  network.survive = read_flag(reader);
  return network;
}

void write_shape(WireWriter& writer, const JobShape& shape) {
  write_enum(writer, shape.placement);
  writer.write(shape.size);
  writer.write(shape.nodes);
  writer.write(shape.segment_bytes);
  writer.write(shape.inbox_bytes);
  writer.write(shape.seed);
  writer.write(shape.choices);
  write_enum(writer, shape.messages.scheme);
  writer.write(shape.messages.eager_bytes);
  writer.write(shape.messages.unexpected_bytes);
  write_network(writer, shape.network);
  writer.write(shape.key);
}

JobShape read_shape(WireReader& reader) {
  JobShape shape;
  shape.placement = checked(reader.read<std::uint32_t>(), Placement::sim, "placement");
  shape.size = reader.read<std::uint32_t>();
  shape.nodes = reader.read<std::uint32_t>();
  shape.segment_bytes = reader.read<std::uint64_t>();
  shape.inbox_bytes = reader.read<std::uint64_t>();
  shape.seed = reader.read<std::uint64_t>();
  shape.choices = reader.read<std::array<char, 1024>>();
  shape.choices.back() = '\0';
  shape.messages.scheme = checked(reader.read<std::uint32_t>(), RendezvousScheme::cma, "way of messages");
  shape.messages.eager_bytes = reader.read<std::uint32_t>();
  shape.messages.unexpected_bytes = reader.read<std::uint64_t>();
  shape.network = read_network(reader);
  shape.key = reader.read<JobKey>();
  return shape;
}

void write_address(WireWriter& writer, const NodeAddress& address) {
  write_enum(writer, address.family);
  writer.write(address.bytes);
  writer.write(address.scope);
}

NodeAddress read_address(WireReader& reader) {
  NodeAddress address;
  address.family = checked(reader.read<std::uint32_t>(), NodeAddress::Family::ipv6, "address family");
  address.bytes = reader.read<std::array<std::uint8_t, 16>>();
  address.scope = reader.read<std::uint32_t>();
  return address;
}

void write_interface(WireWriter& writer, const NodeInterface& interface) {
  write_address(writer, interface.address);
  writer.write(interface.network_bits);
}

NodeInterface read_interface(WireReader& reader) {
  NodeInterface interface;
  interface.address = read_address(reader);
  interface.network_bits = reader.read<std::uint32_t>();
  if (interface.network_bits > 8 * interface.address.bytes.size())
    malformed(fmt::format("{} bits", interface.network_bits));
  return interface;
}

void write_interfaces(WireWriter& writer, const NodeInterfaces& interfaces) {
  writer.write(interfaces.stack);
  write_each(writer, interfaces.all, write_interface);
}

NodeInterfaces read_interfaces(WireReader& reader) {
  NodeInterfaces interfaces;
  interfaces.stack = reader.read<std::uint64_t>();
  interfaces.all = read_each(reader, read_interface);
  return interfaces;
}

void write_card(WireWriter& writer, const NodeCard& card) {
  for (const NodeAddress& address : card.record.addresses) write_address(writer, address);
  writer.write(card.record.health_port);
  writer.write(card.record.host);
  writer.write(card.machine);
  writer.write(card.ports);
}

NodeCard read_card(WireReader& reader) {
  NodeCard card;
  for (NodeAddress& address : card.record.addresses) address = read_address(reader);
  card.record.health_port = reader.read<std::uint16_t>();
  card.record.host = reader.read<std::array<char, 64>>();
  card.record.host.back() = '\0';
  card.machine = reader.read<std::uint64_t>();
  card.ports = reader.read<std::vector<std::uint16_t>>();
  return card;
}

void check_shape(const NodeDescription& description) {
  const JobShape& shape = description.options.shape;
  const std::vector<std::uint32_t>& counts = description.options.ranks_per_node;
  if (shape.nodes == 0 || shape.nodes > shape.size || description.node >= shape.nodes)
    malformed(fmt::format("node {} of {} with {} ranks", description.node, shape.nodes, shape.size));
  if (counts.empty()) return;
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  if (counts.size() != shape.nodes || sum != shape.size)
    malformed(
        fmt::format("{} nodes with {} ranks, where {} with {} should be", counts.size(), sum, shape.nodes, shape.size));
}

}  // namespace

std::vector<std::byte> encode(const NodeDescription& description) {
  WireWriter writer;
  writer.write(JobHeader::kVersion);  // first, in every version
  const JobOptions& options = description.options;
  write_shape(writer, options.shape);
  writer.write(options.ranks_per_node);
  writer.write(options.program);
  writer.write(options.arguments);
  write_enum(writer, options.binding);
  writer.write(static_cast<std::uint8_t>(options.verbose));
  writer.write(options.interface);
  writer.write(description.node);
  writer.write(static_cast<std::uint8_t>(description.remote));
  writer.write(description.working_directory);
  writer.write(description.environment);
  return writer.take();
}

template <>
NodeDescription decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  const auto version = reader.read<std::uint32_t>();
  if (version != JobHeader::kVersion)
    throw Error(Errc::unsupported, fmt::format("the `coracle` command of this node is of another version than that of "
                                               "the job ({} and {}); install the same on both",
                                               JobHeader::kVersion, version));
  NodeDescription description;
  JobOptions& options = description.options;
  options.shape = read_shape(reader);
  options.ranks_per_node = reader.read<std::vector<std::uint32_t>>();
  options.program = reader.read<std::string>();
  options.arguments = reader.read<std::vector<std::string>>();
  options.binding = checked(reader.read<std::uint32_t>(), Binding::share, "binding");
  options.verbose = read_flag(reader);
  options.interface = reader.read<std::string>();
  description.node = reader.read<std::uint32_t>();
  description.remote = read_flag(reader);
  description.working_directory = reader.read<std::string>();
  description.environment = reader.read<std::vector<std::string>>();
  check_shape(description);
  return description;
}

std::vector<std::byte> encode(const NodeInterfaces& interfaces) {
  WireWriter writer;
  write_interfaces(writer, interfaces);
  return writer.take();
}

template <>
NodeInterfaces decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  return read_interfaces(reader);
}

std::vector<std::byte> encode(const std::vector<NodeInterfaces>& nodes) {
  WireWriter writer;
  write_each(writer, nodes, write_interfaces);
  return writer.take();
}

template <>
std::vector<NodeInterfaces> decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  return read_each(reader, read_interfaces);
}

std::vector<std::byte> encode(const NodeCard& card) {
  WireWriter writer;
  write_card(writer, card);
  return writer.take();
}

template <>
NodeCard decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  return read_card(reader);
}

std::vector<std::byte> encode(const JobDirectory& directory) {
  WireWriter writer;
  writer.write(directory.first_on_machine);
  writer.write(directory.ranks_on_machine);
  write_each(writer, directory.cards, write_card);
  return writer.take();
}

template <>
JobDirectory decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  JobDirectory directory;
  directory.first_on_machine = reader.read<std::uint32_t>();
  directory.ranks_on_machine = reader.read<std::uint32_t>();
  directory.cards = read_each(reader, read_card);
  return directory;
}

std::vector<std::byte> encode(const JobFailure& failure) {
  WireWriter writer;
  writer.write(failure.text);
  writer.write(static_cast<std::int32_t>(failure.exit_status));
  writer.write(static_cast<std::uint8_t>(failure.crashed));
  writer.write(static_cast<std::uint8_t>(failure.asked));
  writer.write(static_cast<std::uint8_t>(failure.for_others));
  writer.write(failure.when_ns);
  return writer.take();
}

template <>
JobFailure decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  JobFailure failure;
  failure.text = reader.read<std::string>();
  failure.exit_status = reader.read<std::int32_t>();
  failure.crashed = read_flag(reader);
  failure.asked = read_flag(reader);
  failure.for_others = read_flag(reader);
  failure.when_ns = reader.read<std::uint64_t>();
  return failure;
}

std::vector<std::byte> encode(const NodeEnd& end) {
  WireWriter writer;
  writer.write(end.failures);
  writer.write(static_cast<std::uint8_t>(end.attached));
  writer.write(end.details);
  return writer.take();
}

template <>
NodeEnd decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  NodeEnd end;
  end.failures = reader.read<std::uint32_t>();
  end.attached = read_flag(reader);
  end.details = reader.read<std::string>();
  return end;
}

std::vector<std::byte> encode(const std::string& text) {
  WireWriter writer;
  writer.write(text);
  return writer.take();
}

template <>
std::string decode(std::span<const std::byte> bytes) {
  return WireReader(bytes).read<std::string>();
}

std::vector<std::byte> encode(std::uint32_t number) {
  WireWriter writer;
  writer.write(number);
  return writer.take();
}

template <>
std::uint32_t decode(std::span<const std::byte> bytes) {
  return WireReader(bytes).read<std::uint32_t>();
}

std::vector<std::byte> FrameParser::header(ControlFrameType type, std::size_t payload_bytes) {
  const auto length = static_cast<std::uint32_t>(payload_bytes);
  std::vector<std::byte> bytes(kHeaderBytes);
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes[sizeof length] = static_cast<std::byte>(type);
  return bytes;
}

std::optional<ControlFrame> FrameParser::next() {
  const auto left = [this] { return std::span<const std::byte>(bytes_).subspan(used_); };
  if (!begun_) {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (text.substr(0, kPrelude.size()) != kPrelude.substr(0, text.size()))
      throw Error(Errc::bad_input, fmt::format("it is not a launcher that answers; it says '{}'",
                                               text.substr(0, std::min<std::size_t>(text.find('\n'), 120))));
    if (text.size() < kPrelude.size()) return std::nullopt;
    begun_ = true;
    used_ = kPrelude.size();
  }
  if (left().size() < kHeaderBytes) return compact(), std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, left().data(), sizeof length);
  const auto type = std::to_integer<std::uint32_t>(left()[sizeof length]);
  if (length > kPayloadMax) malformed(fmt::format("{} bytes announced", length));
  if (type == 0) malformed("type 0");
  ControlFrame frame{checked(type, ControlFrameType::last, "type"), {}};
  if (left().size() < kHeaderBytes + length) return compact(), std::nullopt;
  const auto payload = left().subspan(kHeaderBytes, length);
  frame.payload.assign(payload.begin(), payload.end());
  used_ += kHeaderBytes + length;
  return frame;
}

void FrameParser::compact() {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
}

}  // namespace coracle::internals
