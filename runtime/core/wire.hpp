// How the arguments and results of calls travel: trivially copyable types as their bytes; strings, vectors, pairs,
// tuples and optionals of such types element by element. Both ends run the same binary, so there is no conversion; what
// comes in is still checked against the message's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/travels.hpp"

namespace coracle::internals {
namespace detail {

/// Of strings and vectors: whether their elements are bytes in a row.
template <class Range>
inline constexpr bool kInRow =
    std::is_trivially_copyable_v<typename Range::value_type> && !std::is_same_v<typename Range::value_type, bool>;

}  // namespace detail

class WireWriter {
 public:
  template <class T>
  void write(const T& value) {
    static_assert(!std::is_pointer_v<T>,
                  "a pointer means nothing at another rank: send what it points to, or a Remote");
    if constexpr (std::is_trivially_copyable_v<T>) {
      write_bytes(&value, sizeof(T));
    } else if constexpr (requires { value.has_value(); }) {
      write(value.has_value());
      if (value) write(*value);
    } else if constexpr (requires { value.size(); }) {
      write(static_cast<std::uint64_t>(value.size()));
      if constexpr (detail::kInRow<T>)
        write_bytes(value.data(), value.size() * sizeof(typename T::value_type));
      else
        for (const typename T::value_type& element : value) write(element);
    } else {
      std::apply([this](const auto&... element) { (this->write(element), ...); }, value);
    }
  }

  /// Valid until more is written.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void write_bytes(const void* data, std::size_t bytes);

  std::vector<std::byte> bytes_;
};

/// Reads in the order of writing; throws Error (bad_input) where the bytes end too early.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <class T>
  T read() {
    if constexpr (std::is_trivially_copyable_v<T>) {
      alignas(T) std::byte storage[sizeof(T)];
      read_bytes(storage, sizeof(T));
      return *std::launder(reinterpret_cast<T*>(storage));
    } else if constexpr (requires(T value) { value.has_value(); }) {
      // Read as a number: a byte from a message need not be a valid bool.
      if (read<std::uint8_t>() == 0) return std::nullopt;
      return read<typename T::value_type>();
    } else if constexpr (requires(T value) { value.size(); }) {
      return read_range<T>();
    } else {
      return read_tuple<T>(std::make_index_sequence<std::tuple_size_v<T>>());
    }
  }

 private:
  template <class T>
  T read_range() {
    using Element = typename T::value_type;
    const auto count = read<std::uint64_t>();
    T values;
    if constexpr (detail::kInRow<T>) {
      if (count > rest_.size() / sizeof(Element)) throw_short();
      values.assign(static_cast<std::size_t>(count), Element{});
      read_bytes(values.data(), values.size() * sizeof(Element));
    } else {
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(read<Element>());
    }
    return values;
  }
  template <class T, std::size_t... Places>
  T read_tuple(std::index_sequence<Places...>) {
    return T{read<std::tuple_element_t<Places, T>>()...};  // in order: a braced list
  }

  void read_bytes(void* target, std::size_t bytes);
  [[noreturn]] static void throw_short();

  std::span<const std::byte> rest_;
};

}  // namespace coracle::internals
