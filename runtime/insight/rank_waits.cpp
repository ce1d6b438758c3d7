// Field by field, so that no byte from elsewhere becomes an enumeration unchecked.
#include "runtime/insight/rank_waits.hpp"

#include "runtime/core/error.hpp"
#include "runtime/core/wire.hpp"

namespace coracle::internals::insight {
namespace {

template <class Enum>
Enum checked(std::uint8_t value) {
  if (value > static_cast<std::uint8_t>(Enum::last)) throw Error(Errc::bad_input, "malformed waits of a rank");
  return static_cast<Enum>(value);
}

void write(WireWriter& to, const Wait& wait) {
  to.write(static_cast<std::uint8_t>(wait.kind));
  to.write(static_cast<std::uint8_t>(wait.of_library));
  to.write(wait.peer);
  to.write(wait.team);
  to.write(wait.tag);
  to.write(wait.waited_ms);
  to.write(wait.what);
  to.write(wait.place);
  to.write(wait.callers);
}

void read(WireReader& from, Wait& wait) {
  wait.kind = checked<WaitKind>(from.read<std::uint8_t>());
  wait.of_library = from.read<std::uint8_t>() != 0;
  wait.peer = from.read<std::int32_t>();
  wait.team = from.read<std::uint32_t>();
  wait.tag = from.read<std::uint64_t>();
  wait.waited_ms = from.read<std::uint64_t>();
  wait.what = from.read<std::string>();
  wait.place = from.read<std::string>();
  wait.callers = from.read<std::vector<std::string>>();
}

void write(WireWriter& to, const TeamProgress& team) {
  to.write(team.team);
  to.write(team.size);
  to.write(team.number);
  to.write(static_cast<std::uint8_t>(team.under_way));
  to.write(static_cast<std::uint8_t>(team.finalizes));
  to.write(team.call);
  to.write(team.place);
  to.write(team.members);
}

void read(WireReader& from, TeamProgress& team) {
  team.team = from.read<std::uint32_t>();
  team.size = from.read<std::uint32_t>();
  team.number = from.read<std::uint64_t>();
  team.under_way = from.read<std::uint8_t>() != 0;
  team.finalizes = from.read<std::uint8_t>() != 0;
  team.call = from.read<std::string>();
  team.place = from.read<std::string>();
  team.members = from.read<std::vector<std::uint32_t>>();
}

void write(WireWriter& to, const Unreceived& message) {
  to.write(message.team);
  to.write(message.rank);
  to.write(message.tag);
  to.write(message.bytes);
}

void read(WireReader& from, Unreceived& message) {
  message.team = from.read<std::uint32_t>();
  message.rank = from.read<std::uint32_t>();
  message.tag = from.read<std::uint64_t>();
  message.bytes = from.read<std::uint64_t>();
}

void write(WireWriter& to, const RankState& state);
void read(WireReader& from, RankState& state);

template <class T>
void write_all(WireWriter& to, const std::vector<T>& items) {
  to.write(static_cast<std::uint32_t>(items.size()));
  for (const T& item : items) write(to, item);
}

template <class T>
void read_all(WireReader& from, std::vector<T>& items) {
  const auto count = from.read<std::uint32_t>();
  // No room is taken for what was only announced: the reader throws at its end.
  for (std::uint32_t i = 0; i < count; ++i) read(from, items.emplace_back());
}

void write(WireWriter& to, const RankWaits& waits) {
  to.write(waits.digest);
  to.write(waits.call);
  write_all(to, waits.waits);
  write_all(to, waits.teams);
  write_all(to, waits.unreceived);
  to.write(waits.left_out);
}

void read(WireReader& from, RankWaits& waits) {
  waits.digest = from.read<std::uint64_t>();
  waits.call = from.read<std::string>();
  read_all(from, waits.waits);
  read_all(from, waits.teams);
  read_all(from, waits.unreceived);
  waits.left_out = from.read<std::uint32_t>();
}

void write(WireWriter& to, const RankState& state) {
  to.write(state.rank);
  to.write(static_cast<std::uint8_t>(state.doing));
  to.write(state.still_ms);
  write(to, state.waits);
  to.write(state.function);
  to.write(state.place);
  to.write(state.stack);
  to.write(static_cast<std::uint8_t>(state.in_system_call));
  to.write(state.processor_ms);
  to.write(state.memory_bytes);
  to.write(state.sleeps);
}

void read(WireReader& from, RankState& state) {
  state.rank = from.read<std::uint32_t>();
  state.doing = checked<Doing>(from.read<std::uint8_t>());
  state.still_ms = from.read<std::uint64_t>();
  read(from, state.waits);
  state.function = from.read<std::string>();
  state.place = from.read<std::string>();
  state.stack = from.read<std::string>();
  state.in_system_call = from.read<std::uint8_t>() != 0;
  state.processor_ms = from.read<std::uint64_t>();
  state.memory_bytes = from.read<std::uint64_t>();
  state.sleeps = from.read<std::uint64_t>();
}

/// Halves the longest list. False when all are empty.
bool shorten(RankWaits& waits) {
  if (!waits.waits.empty() && waits.waits.size() >= waits.unreceived.size()) {
    const std::size_t kept = waits.waits.size() / 2;
    waits.left_out += static_cast<std::uint32_t>(waits.waits.size() - kept);
    waits.waits.resize(kept);
    return true;
  }
  if (waits.unreceived.empty() && waits.teams.empty() && waits.call.empty()) return false;
  waits.unreceived.resize(waits.unreceived.size() / 2);
  if (!waits.unreceived.empty()) return true;
  waits.teams.resize(waits.teams.size() / 2);
  if (waits.teams.empty()) waits.call.clear();
  return true;
}

}  // namespace

std::vector<std::byte> encode(RankWaits waits, std::size_t room) {
  for (;;) {
    WireWriter writer;
    write(writer, waits);
    if (writer.bytes().size() <= room || !shorten(waits)) return writer.take();
  }
}

RankWaits decode_waits(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  RankWaits waits;
  read(reader, waits);
  return waits;
}

std::vector<std::byte> encode(const std::vector<RankState>& states) {
  WireWriter writer;
  write_all(writer, states);
  return writer.take();
}

std::vector<RankState> decode_states(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  std::vector<RankState> states;
  read_all(reader, states);
  return states;
}

}  // namespace coracle::internals::insight
