// Layouts as bytes, for peers in other address spaces: the nodes, children before their parents, each once however
// often it is used. Numbers take 7 bits a byte; offsets are differences from the one before, so that most take a byte
// or two.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals {
namespace {

using layouts::LayoutNode;
using layouts::NodeKind;
using layouts::NodePointer;
using layouts::PlacedNode;

constexpr std::uint8_t kVersion = 1;

/// Signed numbers of small size as small ones.
std::uint64_t folded(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unfolded(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

class Writer {
 public:
  std::vector<std::byte> bytes;

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
    bytes.push_back(static_cast<std::byte>(value));
  }
  void signed_number(std::int64_t value) { number(folded(value)); }

  /// The node and all below it that are not written yet; gives its number.
  std::uint64_t node(const LayoutNode& node) {
    if (const auto found = numbers_.find(&node); found != numbers_.end()) return found->second;
    std::vector<std::uint64_t> children;
    if (node.child) children.push_back(this->node(*node.child));
    for (const NodePointer& part : node.parts) children.push_back(this->node(*part));
    const std::uint64_t own = numbers_.size();
    bytes.push_back(static_cast<std::byte>(node.kind));
    if (node.kind == NodeKind::run) number(node.size);
    if (node.child) number(own - children[0]);
    if (node.kind != NodeKind::run) number(static_cast<std::uint64_t>(node.count));
    if (node.kind == NodeKind::strided) signed_number(node.stride);
    for (std::size_t i = 0; i < node.offsets.size(); ++i) {
      if (i > 0) signed_number(node.offsets[i] - node.offsets[i - 1]);
      if (node.kind == NodeKind::blocks) number(node.starts[i + 1] - node.starts[i]);
      if (node.kind == NodeKind::sequence) number(own - children[i]);
    }
    numbers_.emplace(&node, own);
    return own;
  }

 private:
  std::unordered_map<const LayoutNode*, std::uint64_t> numbers_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[noreturn]] void refuse(const char* why) const {
    throw Error(Errc::bad_input,
                fmt::format("an encoded layout of {} bytes is malformed near byte {}: {}; its sender is of another "
                            "version, or it was damaged on the way",
                            bytes_.size(), at_, why));
  }
  std::uint8_t byte() {
    if (at_ == bytes_.size()) refuse("it ends too early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      value |= (next & 0x7f) << shift;
      if (shift == 63 && next > 1) refuse("a number has more than 64 bits");
      if (next < 0x80) {
        if (next == 0 && shift > 0) refuse("a number has more bytes than it needs");
        return value;
      }
    }
    refuse("a number has more than 64 bits");
  }
  std::int64_t signed_number() { return unfolded(number()); }
  /// A count of at least 2.
  std::int64_t count() {
    const std::uint64_t value = number();
    if (value < 2 || value >> 63 != 0) refuse("a count is out of range");
    return static_cast<std::int64_t>(value);
  }
  /// Of entries that follow, each of at least a byte (the first one's offset is not written).
  std::size_t entries() {
    const std::int64_t value = count();
    if (static_cast<std::uint64_t>(value) - 1 > bytes_.size() - at_) refuse("a list has more entries than bytes");
    return static_cast<std::size_t>(value);
  }
  void end() const {
    if (at_ != bytes_.size()) refuse("there is more behind it");
  }

  /// All nodes, the outermost last.
  std::vector<NodePointer> nodes() {
    const std::uint64_t count = number();
    if (count > bytes_.size() - at_) refuse("there are more nodes than bytes");
    for (std::uint64_t i = 0; i < count; ++i) nodes_.push_back(node());
    for (std::uint64_t i = 0; i + 1 < count; ++i)
      if (!used_[i]) refuse("a node is nowhere used");
    return std::move(nodes_);
  }

 private:
  NodePointer child() {
    const std::uint64_t back = number();
    if (back == 0 || back > nodes_.size()) refuse("a node refers to none before it");
    used_[nodes_.size() - back] = true;
    return nodes_[nodes_.size() - back];
  }

  NodePointer node() {
    const std::uint8_t kind = byte();
    used_.resize(nodes_.size() + 1);
    switch (static_cast<NodeKind>(kind)) {
      case NodeKind::run:
        return run();
      case NodeKind::strided:
        return strided();
      case NodeKind::list:
        return list();
      case NodeKind::blocks:
        return blocks();
      case NodeKind::sequence:
        return sequence();
    }
    refuse("there is no such kind of node");
  }
  NodePointer run() {
    const std::uint64_t bytes = number();
    if (bytes == 0) refuse("a run has no bytes");
    return layouts::make_run(bytes);
  }
  NodePointer strided() {
    NodePointer of = child();
    const std::int64_t repetitions = count();
    return layouts::make_strided(std::move(of), repetitions, signed_number());
  }
  NodePointer list() {
    NodePointer of = child();
    std::vector<std::int64_t> offsets(entries());
    for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] = layouts::add(offsets[i - 1], signed_number());
    return layouts::make_list(std::move(of), std::move(offsets)).node;
  }
  NodePointer blocks() {
    std::vector<std::int64_t> offsets(entries());
    std::vector<std::uint64_t> lengths(offsets.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (i > 0) offsets[i] = layouts::add(offsets[i - 1], signed_number());
      lengths[i] = number();
      if (lengths[i] == 0 || lengths[i] >> 63 != 0) refuse("the length of a block is out of range");
    }
    return layouts::make_blocks(std::move(offsets), lengths).node;
  }
  NodePointer sequence() {
    std::vector<PlacedNode> parts(entries());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) parts[i].offset = layouts::add(parts[i - 1].offset, signed_number());
      parts[i].node = child();
    }
    return layouts::make_sequence(parts).node;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::vector<NodePointer> nodes_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<std::byte> Layout::encode() const {
  Writer nodes;
  const std::uint64_t count = node_ ? nodes.node(*node_) + 1 : 0;
  Writer whole;
  whole.bytes.push_back(std::byte{kVersion});
  whole.number(marked_ ? 1 : 0);
  whole.signed_number(first_);
  if (marked_) {
    whole.signed_number(lower_);
    whole.signed_number(upper_);
  }
  whole.number(count);
  // One by one: g++ 14 can't bound the length of a range that is inserted, and warns of it.
  whole.bytes.reserve(whole.bytes.size() + nodes.bytes.size());
  for (const std::byte byte : nodes.bytes) whole.bytes.push_back(byte);
  return std::move(whole.bytes);
}

Layout Layout::decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  try {
    if (reader.byte() != kVersion) reader.refuse("it is of another version");
    Layout layout;
    const std::uint64_t marked = reader.number();
    if (marked > 1) reader.refuse("the bounds are of no known kind");
    layout.marked_ = marked == 1;
    layout.first_ = reader.signed_number();
    if (layout.marked_) {
      layout.lower_ = reader.signed_number();
      layout.upper_ = reader.signed_number();
    }
    const std::vector<NodePointer> nodes = reader.nodes();
    reader.end();
    if (!nodes.empty()) layout.node_ = nodes.back();
    if (nodes.empty() && layout.first_ != 0) reader.refuse("no bytes have a place");
    layout.check_reach();
    if (!layout.marked_) {
      layout.lower_ = layout.true_lower_bound();
      layout.upper_ = layout.lower_ + layout.true_extent();
    }
    return layout;
  } catch (const layouts::TooLarge&) {
    reader.refuse("bytes lie 2^63 or more apart");
  } catch (const layouts::TooDeep&) {
    reader.refuse("it is nested too deep");
  }
}

}  // namespace coracle::internals
