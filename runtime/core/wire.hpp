// How the arguments and results of calls travel: trivially copyable types as their bytes; strings, errors, vectors,
// pairs, tuples and optionals of such types element by element. Both ends run the same binary, so there is no
// conversion; what comes in is still checked against the message's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/travels.hpp"

namespace coracle::internals {

class WireWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void write(const T& value) {
    static_assert(!std::is_pointer_v<T>,
                  "a pointer means nothing at another rank: send what it points to, or a Remote");
    write_bytes(&value, sizeof(T));
  }
  void write(const std::string& text) { write_range(text.data(), text.size()); }
  void write(const Error& error) {
    write(to_wire(error.code()));
    write(std::string(error.what()));
  }
  template <class T>
  void write(const std::vector<T>& values) {
    if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
      write_range(values.data(), values.size());
    } else {
      write(static_cast<std::uint64_t>(values.size()));
      for (const T& value : values) write(value);
    }
  }
  template <class T>
    requires(!std::is_trivially_copyable_v<std::optional<T>>)
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <class A, class B>
    requires(!std::is_trivially_copyable_v<std::pair<A, B>>)
  void write(const std::pair<A, B>& pair) {
    write(pair.first);
    write(pair.second);
  }
  template <class... T>
    requires(!std::is_trivially_copyable_v<std::tuple<T...>>)
  void write(const std::tuple<T...>& tuple) {
    std::apply([this](const auto&... element) { (this->write(element), ...); }, tuple);
  }

  /// Valid until more is written.
  std::span<const std::byte> bytes() const noexcept;
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void write_bytes(const void* data, std::size_t bytes);
  template <class T>
  void write_range(const T* data, std::size_t count) {
    write(static_cast<std::uint64_t>(count));
    if (count > 0) write_bytes(data, count * sizeof(T));
  }
  std::vector<std::byte> bytes_;
};

/// Reads in the order of writing; throws Error (bad_input) where the bytes end too early.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}
  explicit WireReader(const std::vector<std::byte>& bytes) noexcept;

  template <class T>
  T read() {
    return Reader<T>::read(*this);
  }

 private:
  template <class T>
  struct Reader {
    static_assert(std::is_trivially_copyable_v<T>, "this type can't travel with a call; see travels.hpp");
    static T read(WireReader& reader) {
      alignas(T) std::byte storage[sizeof(T)];
      reader.read_bytes(storage, sizeof(T));
      return *std::launder(reinterpret_cast<T*>(storage));
    }
  };
  template <class T>
  struct RangeReader {
    static T read(WireReader& reader) {
      using Element = typename T::value_type;
      const auto count = reader.read<std::uint64_t>();
      if (count > reader.rest_.size() / sizeof(Element)) throw_short();
      T values(static_cast<std::size_t>(count), Element{});
      reader.read_bytes(values.data(), values.size() * sizeof(Element));
      return values;
    }
  };

  void read_bytes(void* target, std::size_t bytes);
  [[noreturn]] static void throw_short();

  std::span<const std::byte> rest_;
};

template <>
struct WireReader::Reader<std::string> : RangeReader<std::string> {};
template <>
struct WireReader::Reader<Error> {
  static Error read(WireReader& reader) {
    const std::error_code code = code_from_wire(reader.read<std::uint64_t>());
    return {code, reader.read<std::string>()};
  }
};
template <class T>
struct WireReader::Reader<std::vector<T>> {
  static std::vector<T> read(WireReader& reader) {
    if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
      return RangeReader<std::vector<T>>::read(reader);
    } else {
      const auto count = reader.read<std::uint64_t>();
      std::vector<T> values;
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(reader.read<T>());
      return values;
    }
  }
};
template <class T>
  requires(!std::is_trivially_copyable_v<std::optional<T>>)
struct WireReader::Reader<std::optional<T>> {
  static std::optional<T> read(WireReader& reader) {
    // Read as a number: a byte from a message need not be a valid bool.
    if (reader.read<std::uint8_t>() == 0) return std::nullopt;
    return reader.read<T>();
  }
};
template <class A, class B>
  requires(!std::is_trivially_copyable_v<std::pair<A, B>>)
struct WireReader::Reader<std::pair<A, B>> {
  static std::pair<A, B> read(WireReader& reader) {
    A first = reader.read<A>();
    return {std::move(first), reader.read<B>()};
  }
};
template <class... T>
  requires(!std::is_trivially_copyable_v<std::tuple<T...>>)
struct WireReader::Reader<std::tuple<T...>> {
  static std::tuple<T...> read(WireReader& reader) { return std::tuple<T...>{reader.read<T>()...}; }
};

}  // namespace coracle::internals
