// Making, finding and awaiting objects by name.
#include "runtime/rank/named_objects.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <span>
#include <string_view>

#include "runtime/core/error.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

std::string_view name_in(const Message& message) noexcept {
  const auto payload = message.payload();
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

}  // namespace

struct NamedObjects::Tables {
  struct Object {
    void* object;
    const std::type_info* type;
    std::uint32_t uses = 0;
  };
  /// A wait of a peer.
  struct Awaited {
    std::uint32_t by;
    std::uint64_t number;
  };

  std::map<std::string, Object, std::less<>> objects;
  std::multimap<std::string, Awaited, std::less<>> awaited;
  std::map<std::uint64_t, PeerEvent*> waits;  // of this rank, by number
};

NamedObjects::NamedObjects(Rank& rank) : rank_(rank), tables_(std::make_unique<Tables>()) {}

NamedObjects::~NamedObjects() = default;

std::size_t NamedObjects::awaited() const noexcept {
  return tables_->awaited.size();
}

std::string NamedObjects::readable(const char* type_name) {
  int status = 0;
  char* text = abi::__cxa_demangle(type_name, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type_name;
  std::free(text);
  return name;
}

void NamedObjects::add(const std::string& name, void* object, const std::type_info& type) {
  const auto [place, is_new] = tables_->objects.try_emplace(name, Tables::Object{object, &type});
  if (!is_new)
    throw Error(Errc::bad_input,
                fmt::format("rank {} has a distributed object '{}' already (a {}): give this one another name, or let "
                            "that one go before",
                            rank_.id(), name, readable(place->second.type->name())));
  try {
    tell_all(name);
  } catch (...) {
    tables_->objects.erase(place);  // or it would outlive the object, whose maker fails
    throw;
  }
}

void NamedObjects::tell_all(const std::string& name) {
  const auto [first, last] = tables_->awaited.equal_range(name);
  for (auto awaited = first; awaited != last; awaited = tables_->awaited.erase(awaited))
    rank_.service().spawn(tell(rank_, awaited->second.by, on_made, {}, awaited->second.number));
}

void NamedObjects::remove(const std::string& name) noexcept {
  const auto place = tables_->objects.find(name);
  CORACLE_ASSERT(place->second.uses == 0,
                 "the distributed object '{}' ended on rank {} while {} calls of peers run on it: a barrier, or an "
                 "answer, should stand before its end",
                 name, rank_.id(), place->second.uses);
  tables_->objects.erase(place);
}

NamedObjects::Use::Use(Rank& rank, const std::string& name, const std::string& type_name) {
  auto& objects = rank.local<NamedObjects>().tables_->objects;
  const auto place = objects.find(name);
  if (place == objects.end()) return;
  type_found_ = place->second.type;
  // By name: in `process` and `pvas` the peer has a std::type_info of its own.
  if (type_name != type_found_->name()) return;
  object_ = place->second.object;
  uses_ = &place->second.uses;  // a map's elements stay where they are
  ++*uses_;
}

NamedObjects::Use::~Use() {
  if (uses_ != nullptr) --*uses_;
}

std::string NamedObjects::Use::type_found() const {
  return type_found_ == nullptr ? std::string() : readable(type_found_->name());
}

Task<> NamedObjects::made(std::uint32_t peer, std::string name, std::source_location where) {
  const std::string what = "distributed object '" + name + "' to be made";
  PeerEvent made(rank_.core(), what.c_str(), peer, rank_.core().peers().observers());
  const std::uint64_t number = ++last_wait_;
  tables_->waits.emplace(number, &made);
  std::exception_ptr failure;
  try {
    co_await rank_.request(peer, on_awaited, std::as_bytes(std::span(name)), number);
    made.awaited_at(where);
    AwaitReference<PeerEvent> placed{made};  // which keeps that place
    co_await placed;
  } catch (...) {
    failure = std::current_exception();
  }
  tables_->waits.erase(number);
  if (!failure) co_return;
  // The peer has noted the wait, or is about to. At the end of the job's program it matters no more.
  Scope& service = rank_.service();
  if (!rank_.lost(peer) && !service.cancelled())
    service.spawn(tell(rank_, peer, on_withdrawn, std::move(name), number));
  std::rethrow_exception(failure);
}

void NamedObjects::on_awaited(Rank& rank, const Message& message) {
  auto& self = rank.local<NamedObjects>();
  const std::string_view name = name_in(message);
  if (!rank.losses().empty())  // who will take nothing back any more
    std::erase_if(self.tables_->awaited, [&](const auto& each) { return rank.lost(each.second.by); });
  if (self.tables_->objects.contains(name))
    message.reply(on_made, {}, {message.argument(0)});
  else
    self.tables_->awaited.emplace(name, Tables::Awaited{message.source(), message.argument(0)});
}

void NamedObjects::on_made(Rank& rank, const Message& message) {
  const auto& waits = rank.local<NamedObjects>().tables_->waits;
  const auto wait = waits.find(message.argument(0));
  if (wait != waits.end()) wait->second->set();  // else it has been cancelled
}

void NamedObjects::on_withdrawn(Rank& rank, const Message& message) {
  auto& awaited = rank.local<NamedObjects>().tables_->awaited;
  const auto [first, last] = awaited.equal_range(name_in(message));
  const auto found = std::find_if(first, last, [&](const auto& each) {
    return each.second.by == message.source() && each.second.number == message.argument(0);
  });
  if (found != last) awaited.erase(found);  // else it has been told
}

Task<> NamedObjects::tell(Rank& rank, std::uint32_t peer, Handler handler, std::string name, std::uint64_t number) {
  try {
    co_await rank.request(peer, handler, std::as_bytes(std::span(name)), number);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // nobody is left who waits, or is waited for
  }
}

void NamedObjects::throw_other_type(std::uint32_t peer, const std::string& name, const std::string& there,
                                    const char* here) {
  throw Error(Errc::bad_input, fmt::format("rank {} has made the distributed object '{}' as a {}, and here it is asked "
                                           "for as a {}: use the same type, or another name",
                                           peer, name, there, readable(here)));
}

}  // namespace coracle::internals
