// One frame of each kind, and their decoding.
#include "tests/launch/control_frames_input.hpp"

#include "runtime/core/error.hpp"
#include "runtime/insight/rank_summary.hpp"
#include "runtime/launch/control_frames.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/trace_parts.hpp"

namespace coracle::internals::test {
namespace {

NodeDescription description() {
  NodeDescription result;
  result.options.shape.size = 5;
  result.options.shape.nodes = 2;
  result.options.ranks_per_node = {3, 2};
  result.options.programs = {{"./app", {"one", "two words"}, 4, {"A=1", "B="}, "/tmp"}, {"./other", {}, 1, {}, ""}};
  result.node = 1;
  result.remote = true;
  result.working_directory = "/tmp";
  result.environment = {"PATH=/bin", "EMPTY="};
  return result;
}

NodeCard card() {
  NodeCard result;
  result.record.addresses[0].family = NodeAddress::Family::ipv4;
  result.record.health_port = 4711;
  result.machine = 7;
  result.ports = {1, 2, 3};
  return result;
}

NodeInterfaces interfaces() {
  NodeInterfaces result{7, {}};
  result.all.push_back({NodeAddress{NodeAddress::Family::ipv4, {10, 0, 0, 1}, 0}, 24});
  result.all.push_back({NodeAddress{NodeAddress::Family::ipv6, {0xfd}, 0}, 64});
  return result;
}

RankSummary summary() {
  RankSummary result;
  result.rank = 1;
  result.facts.is_open = 1;
  result.lines.resize(2);
  result.peers.resize(1);
  result.calls.resize(1);
  result.entries.resize(3);
  return result;
}

void decode_frame(const ControlFrame& frame) {
  switch (frame.type) {
    case ControlFrameType::describe:
      decode<NodeDescription>(frame.payload);
      return;
    case ControlFrameType::directory:
      decode<JobDirectory>(frame.payload);
      return;
    case ControlFrameType::interfaces:
      decode<NodeInterfaces>(frame.payload);
      return;
    case ControlFrameType::neighbours:
      decode<std::vector<NodeInterfaces>>(frame.payload);
      return;
    case ControlFrameType::card:
      decode<NodeCard>(frame.payload);
      return;
    case ControlFrameType::failed:
      decode<JobFailure>(frame.payload);
      return;
    case ControlFrameType::ended:
      decode<NodeEnd>(frame.payload);
      return;
    case ControlFrameType::refused:
    case ControlFrameType::unattached:
      decode<std::string>(frame.payload);
      return;
    case ControlFrameType::time:
      decode<ClockAnswer>(frame.payload);
      return;
    case ControlFrameType::trace:
      NodeTraces().add(decode<TracePart>(frame.payload), 0, 2, 1 << 20);
      return;
    case ControlFrameType::summary:
      summary_of(frame.payload, 2);
      return;
    case ControlFrameType::hello:
    case ControlFrameType::clock:
    case ControlFrameType::credit:
      decode<std::uint32_t>(frame.payload);
      return;
    default:
      return;
  }
}

}  // namespace

std::vector<std::byte> control_stream_bytes() {
  const auto* prelude = reinterpret_cast<const std::byte*>(FrameParser::kPrelude.data());
  std::vector<std::byte> bytes(prelude, prelude + FrameParser::kPrelude.size());
  const auto add = [&bytes](ControlFrameType type, const std::vector<std::byte>& payload) {
    const std::vector<std::byte> header = FrameParser::header(type, payload.size());
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  };
  add(ControlFrameType::hello, encode(JobHeader::kVersion));
  add(ControlFrameType::describe, encode(description()));
  add(ControlFrameType::interfaces, encode(interfaces()));
  add(ControlFrameType::neighbours, encode(std::vector{interfaces(), interfaces()}));
  add(ControlFrameType::card, encode(card()));
  add(ControlFrameType::directory, encode(JobDirectory{{card(), card()}, 3, 6}));
  add(ControlFrameType::failed, encode(JobFailure{"rank 1 exited with status 3", 3, false, false}));
  add(ControlFrameType::unattached, encode(std::string("rank 2 ended")));
  add(ControlFrameType::credit, encode(std::uint32_t{100}));
  add(ControlFrameType::stop, {});
  add(ControlFrameType::clock, encode(std::uint32_t{3}));
  add(ControlFrameType::time, encode(ClockAnswer{3, 1'000'000}));
  add(ControlFrameType::trace, encode(TracePart{1, 5, {"solve"}, std::vector<std::byte>(2 * sizeof(StoredEvent))}));
  add(ControlFrameType::summary, bytes_of(summary()));
  add(ControlFrameType::ended, encode(NodeEnd{2, true, "details"}));
  return bytes;
}

bool read_control_stream(std::span<const std::byte> bytes) {
  FrameParser parser;
  try {
    // In two pieces, as a socket may hand them out.
    for (const auto piece : {bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}) {
      parser.feed(piece);
      while (const std::optional<ControlFrame> frame = parser.next()) decode_frame(*frame);
    }
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input && error.code() != Errc::unsupported) throw;
    return false;
  }
  return true;
}

}  // namespace coracle::internals::test
