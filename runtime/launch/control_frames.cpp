// Field by field, so that no byte from elsewhere becomes an enumeration or a bool unchecked.
#include "runtime/launch/control_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/core/error.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/trace_parts.hpp"

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

template <class Visitor, class T>
concept HasFields = requires(Visitor& visit, T& value) { fields(visit, value); };

/// Writes what it is called with, one after another.
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void operator()(T& value) {
    if constexpr (HasFields<FieldWriter, T>)
      fields(*this, value);
    else
      writer_.write(value);
  }
  void operator()(bool& flag) { writer_.write(static_cast<std::uint8_t>(flag)); }
  /// `last`: the enumeration's; `what`: in words.
  template <class Enum>
  void operator()(Enum& value, Enum /*last*/, const char* /*what*/) {
    writer_.write(static_cast<std::uint32_t>(value));
  }
  template <class T>
    requires HasFields<FieldWriter, T>
  void operator()(std::vector<T>& items) {
    writer_.write(static_cast<std::uint32_t>(items.size()));
    for (T& item : items) fields(*this, item);
  }

  std::vector<std::byte> take() { return writer_.take(); }

 private:
  WireWriter writer_;
};

/// Reads into what it is called with, and checks it.
class FieldReader {
 public:
  static constexpr bool kReads = true;
  explicit FieldReader(std::span<const std::byte> bytes) : reader_(bytes) {}

  template <class T>
  void operator()(T& value) {
    static_assert(!std::is_enum_v<T>, "an enumeration needs to be checked");
    if constexpr (HasFields<FieldReader, T>)
      fields(*this, value);
    else
      value = reader_.read<T>();
  }
  void operator()(bool& flag) { flag = reader_.read<std::uint8_t>() != 0; }
  /// A text that ends with 0.
  template <std::size_t N>
  void operator()(std::array<char, N>& text) {
    text = reader_.read<std::array<char, N>>();
    text.back() = '\0';
  }
  template <class Enum>
  void operator()(Enum& value, Enum last, const char* what) {
    value = checked(reader_.read<std::uint32_t>(), last, what);
  }
  template <class T>
    requires HasFields<FieldReader, T>
  void operator()(std::vector<T>& items) {
    const auto count = reader_.read<std::uint32_t>();
    // No room is taken for what was only announced: the reader throws at its end.
    for (std::uint32_t i = 0; i < count; ++i) fields(*this, items.emplace_back());
  }

 private:
  WireReader reader_;
};

void check_shape(const NodeDescription& description) {
  const JobShape& shape = description.options.shape;
  check_programs(description.options);
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

// What each consists of, in the order of the bytes, for both of them.

template <class Visitor>
void fields(Visitor& visit, JobShape& shape) {
  visit(shape.placement, Placement::sim, "placement");
  visit(shape.size);
  visit(shape.nodes);
  visit(shape.segment_bytes);
  visit(shape.inbox_bytes);
  visit(shape.seed);
  visit(shape.choices);
  visit(shape.trace_bytes);
  visit(shape.summary_bytes);
  visit(shape.messages.scheme, RendezvousScheme::cma, "way of messages");
  visit(shape.messages.eager_bytes);
  visit(shape.messages.unexpected_bytes);
  visit(shape.network.silence_limit_ns);
  visit(shape.network.connections_max);
  visit(shape.network.transport, RemoteTransport::tca, "transport");
  visit(shape.network.survive);
  visit(shape.key);
}

template <class Visitor>
void fields(Visitor& visit, NodeAddress& address) {
  visit(address.family, NodeAddress::Family::ipv6, "address family");
  visit(address.bytes);
  visit(address.scope);
}

template <class Visitor>
void fields(Visitor& visit, NodeInterface& interface) {
  visit(interface.address);
  visit(interface.network_bits);
  if (interface.network_bits > 8 * interface.address.bytes.size())
    malformed(fmt::format("{} bits", interface.network_bits));
}

template <class Visitor>
void fields(Visitor& visit, NodeInterfaces& interfaces) {
  visit(interfaces.stack);
  visit(interfaces.all);
}

template <class Visitor>
void fields(Visitor& visit, NodeCard& card) {
  for (NodeAddress& address : card.record.addresses) visit(address);
  visit(card.record.health_port);
  visit(card.record.host);
  visit(card.machine);
  visit(card.ports);
}

template <class Visitor>
void fields(Visitor& visit, JobDirectory& directory) {
  visit(directory.first_on_machine);
  visit(directory.ranks_on_machine);
  visit(directory.cards);
}

template <class Visitor>
void fields(Visitor& visit, JobFailure& failure) {
  visit(failure.text);
  visit(failure.exit_status);
  visit(failure.crashed);
  visit(failure.asked);
  visit(failure.for_others);
  visit(failure.when_ns);
}

template <class Visitor>
void fields(Visitor& visit, NodeEnd& end) {
  visit(end.failures);
  visit(end.attached);
  visit(end.details);
}

template <class Visitor>
void fields(Visitor& visit, ClockAnswer& answer) {
  visit(answer.number);
  visit(answer.ns);
}

template <class Visitor>
void fields(Visitor& visit, TracePart& part) {
  visit(part.rank);
  visit(part.dropped);
  visit(part.texts);
  visit(part.events);
}

template <class Visitor>
void fields(Visitor& visit, ProgramPart& part) {
  visit(part.program);
  visit(part.arguments);
  visit(part.ranks);
  visit(part.environment);
  visit(part.directory);
}

template <class Visitor>
void fields(Visitor& visit, NodeDescription& description) {
  std::uint32_t version = JobHeader::kVersion;
  visit(version);  // first, in every version
  if (version != JobHeader::kVersion)
    throw Error(Errc::unsupported, fmt::format("the `coracle` command of this node is of another version than that of "
                                               "the job ({} and {}); install the same on both",
                                               JobHeader::kVersion, version));
  JobOptions& options = description.options;
  visit(options.shape);
  visit(options.ranks_per_node);
  visit(options.programs);
  visit(options.label);
  visit(options.output);
  visit(options.input.who, InputReaders::Who::none, "readers of input");
  visit(options.input.rank);
  visit(options.binding, Binding::share, "binding");
  visit(options.verbose);
  visit(options.interface);
  visit(description.node);
  visit(description.remote);
  visit(description.working_directory);
  visit(description.environment);
  if constexpr (Visitor::kReads) check_shape(description);
}

}  // namespace

template <class T>
std::vector<std::byte> encode(T value) {
  FieldWriter writer;
  writer(value);
  return writer.take();
}

template <class T>
T decode(std::span<const std::byte> bytes) {
  T value{};
  FieldReader reader(bytes);
  reader(value);
  return value;
}

template std::vector<std::byte> encode(NodeDescription);
template NodeDescription decode(std::span<const std::byte>);
template std::vector<std::byte> encode(NodeInterfaces);
template NodeInterfaces decode(std::span<const std::byte>);
template std::vector<std::byte> encode(std::vector<NodeInterfaces>);
template std::vector<NodeInterfaces> decode(std::span<const std::byte>);
template std::vector<std::byte> encode(NodeCard);
template NodeCard decode(std::span<const std::byte>);
template std::vector<std::byte> encode(JobDirectory);
template JobDirectory decode(std::span<const std::byte>);
template std::vector<std::byte> encode(JobFailure);
template JobFailure decode(std::span<const std::byte>);
template std::vector<std::byte> encode(NodeEnd);
template NodeEnd decode(std::span<const std::byte>);
template std::vector<std::byte> encode(ClockAnswer);
template ClockAnswer decode(std::span<const std::byte>);
template std::vector<std::byte> encode(TracePart);
template TracePart decode(std::span<const std::byte>);
template std::vector<std::byte> encode(std::string);
template std::string decode(std::span<const std::byte>);
template std::vector<std::byte> encode(std::uint32_t);
template std::uint32_t decode(std::span<const std::byte>);
template std::vector<std::byte> encode(std::vector<std::uint32_t>);
template std::vector<std::uint32_t> decode(std::span<const std::byte>);

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
