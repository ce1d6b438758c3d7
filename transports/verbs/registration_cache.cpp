// The cache of registrations.
#include "transports/verbs/registration_cache.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals::verbs {
namespace {

constexpr int kForReading = IBV_ACCESS_REMOTE_READ;
constexpr int kForWriting = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

RegistrationCache::RegistrationCache(ibv_pd* domain) : domain_(domain), monitor_(MemoryMonitor::make(*this)) {}

RegistrationCache::~RegistrationCache() {
  monitor_.reset();
}

// Looked at and changed under the monitor's mutex are begin, end and stale; the rest is the rank's own.
Registration* RegistrationCache::find(std::uintptr_t begin, std::uintptr_t end, bool written) noexcept {
  if (!monitor_) return nullptr;
  const std::lock_guard lock(monitor_->mutex());
  for (Registration& each : kept_)
    if (each.begin <= begin && end <= each.end && !each.stale && (each.writable || !written)) return &each;
  return nullptr;
}

int RegistrationCache::acquire(const void* address, std::size_t bytes, bool written,
                               Registration*& registration) noexcept {
  static const auto kPage = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) & ~(kPage - 1);
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(address) + bytes + kPage - 1) & ~(kPage - 1);
  registration = find(begin, end, written);
  if (registration == nullptr) {
    drop_stale();
    Registration made;
    int error = make(begin, end, written, made);
    while (error == ENOMEM && drop_oldest()) error = make(begin, end, written, made);
    if (error != 0) return error;
    registration = keep(made);
    if (registration == nullptr) registration = new (std::nothrow) Registration(std::move(made));
    if (registration == nullptr) return ENOMEM;
  }
  ++registration->uses;
  registration->last_use = ++clock_;
  return 0;
}

int RegistrationCache::make(std::uintptr_t begin, std::uintptr_t end, bool written, Registration& made) noexcept {
  ++registered_count_;
  auto* start = reinterpret_cast<void*>(begin);
  made.begin = begin;
  made.end = end;
  made.writable = true;
  made.region.reset(ibv_reg_mr(domain_, start, end - begin, kForWriting));
  if (!made.region && !written && (errno == EFAULT || errno == EPERM || errno == EACCES)) {  // a constant, perhaps
    made.writable = false;
    made.region.reset(ibv_reg_mr(domain_, start, end - begin, kForReading));
  }
  return made.region ? 0 : errno;
}

/// Moves it into the cache; null when it can't be kept.
Registration* RegistrationCache::keep(Registration& made) noexcept {
  const std::size_t bytes = made.end - made.begin;
  if (!monitor_ || bytes > kKeptBytesMax || !monitor_->add(made.begin, made.end)) return nullptr;
  while (kept_bytes_ + bytes > kKeptBytesMax && drop_oldest()) {
  }
  Registration* place = nullptr;
  do {
    for (Registration& each : kept_)
      if (!each.region) place = &each;
  } while (place == nullptr && drop_oldest());
  if (place == nullptr || kept_bytes_ + bytes > kKeptBytesMax) return nullptr;  // all are in use
  place->region = std::move(made.region);
  place->writable = made.writable;
  place->kept = true;
  place->uses = 0;
  kept_bytes_ += bytes;
  const std::lock_guard lock(monitor_->mutex());
  place->begin = made.begin;
  place->end = made.end;
  place->stale = false;
  return place;
}

void RegistrationCache::release(Registration& registration) noexcept {
  CORACLE_ASSERT(registration.uses > 0, "a registration was released too often");
  if (--registration.uses > 0) return;
  if (!registration.kept) delete &registration;
}

void RegistrationCache::gone(std::uintptr_t begin, std::uintptr_t end) noexcept {
  for (Registration& each : kept_) {
    if (each.begin >= end || begin >= each.end) continue;
    each.stale = true;
    any_stale_.store(true, std::memory_order_relaxed);  // only a hint: `stale` is read under the mutex
  }
}

void RegistrationCache::drop_stale() noexcept {
  if (!any_stale_.exchange(false, std::memory_order_relaxed)) return;  // as above
  for (Registration& each : kept_) {
    if (!each.region) continue;
    bool stale = false;
    {
      const std::lock_guard lock(monitor_->mutex());
      stale = each.stale;
    }
    if (stale && each.uses == 0)
      drop(each);
    else if (stale)
      any_stale_.store(true, std::memory_order_relaxed);  // it is still in use: later
  }
}

bool RegistrationCache::drop_oldest() noexcept {
  Registration* oldest = nullptr;
  for (Registration& each : kept_)
    if (each.region && each.uses == 0 && (oldest == nullptr || each.last_use < oldest->last_use)) oldest = &each;
  if (oldest != nullptr) drop(*oldest);
  return oldest != nullptr;
}

void RegistrationCache::drop(Registration& registration) noexcept {
  const std::uintptr_t begin = registration.begin;
  const std::uintptr_t end = registration.end;
  {
    const std::lock_guard lock(monitor_->mutex());
    registration.begin = registration.end = 0;
  }
  registration.region.reset();
  kept_bytes_ -= end - begin;
  for (const Registration& other : kept_)
    if (other.region && other.begin < end && begin < other.end) return;  // it stays watched for this one
  monitor_->remove(begin, end);
}

}  // namespace coracle::internals::verbs
