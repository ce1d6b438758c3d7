// NamedObjects: the parts of distributed objects that a rank has, by their names, and who waits for one to be made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <typeinfo>

#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"

namespace coracle::internals {

class Rank;

/// A rank's own (Rank::local). See Distributed.
class NamedObjects {
 public:
  explicit NamedObjects(Rank& rank);
  ~NamedObjects();

  /// Throws Error (bad_input) when this rank has an object of that name. Tells those who wait for it.
  void add(const std::string& name, void* object, const std::type_info& type);
  void remove(const std::string& name) noexcept;
  /// For users' texts: "std::vector<int>", not its mangled form.
  static std::string readable(const char* type_name);
  /// Error (bad_input). `there`: readable(); `here`: not.
  [[noreturn]] static void throw_other_type(std::uint32_t peer, const std::string& name, const std::string& there,
                                            const char* here);

  /// A peer's use of an object, which must not end meanwhile.
  class Use {
   public:
    Use(Rank& rank, const std::string& name, const std::string& type_name);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Null when there is none, or one of another type.
    void* object() const noexcept { return object_; }
    /// "" when there is none.
    std::string type_found() const;

   private:
    std::uint32_t* uses_ = nullptr;
    void* object_ = nullptr;
    const std::type_info* type_found_ = nullptr;
  };

  /// Returns when `peer` has had an object of that name; it may be gone again. `where`: for hang reports. Throws Error
  /// when it is cancelled, which the peer is told, or the peer is lost.
  Task<> made(std::uint32_t peer, std::string name, std::source_location where);
  /// Waits of peers for what this rank has not made.
  std::size_t awaited() const noexcept;

 private:
  struct Tables;

  static void on_awaited(Rank& rank, const Message& message);
  static void on_made(Rank& rank, const Message& message);
  static void on_withdrawn(Rank& rank, const Message& message);
  static Task<> tell(Rank& rank, std::uint32_t peer, Handler handler, std::string name, std::uint64_t number);
  void tell_all(const std::string& name);

  Rank& rank_;
  const std::unique_ptr<Tables> tables_;
  std::uint64_t last_wait_ = 0;
};

}  // namespace coracle::internals
