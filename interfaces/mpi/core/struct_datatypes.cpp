// MPI_Type_create_struct, whose bounds MPI-1's markers may set one by one.
#include <algorithm>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

using internals::Layout;
using internals::LayoutField;

/// One bound of a struct: of the fields that count most, the outermost place.
class Bound {
 public:
  using Choice = const Count& (*)(const Count&, const Count&);
  explicit Bound(Choice choice) noexcept : choice_(choice) {}

  /// Fields that set a bound count more than those with bytes, and these more than a marker of the other bound.
  void meet(Count place, const Datatype& datatype, bool marked) {
    const int weight = marked ? 3 : datatype.size() > 0 ? 2 : 1;
    if (weight < weight_) return;
    place_ = weight == weight_ ? choice_(place_, place) : place;
    weight_ = weight;
  }
  Count place() const noexcept { return place_; }

 private:
  Choice choice_;
  Count place_ = 0;
  int weight_ = 0;
};

class StructBounds {
 public:
  void add(const Datatype& datatype, const LayoutField& field) {
    const Layout block = field.layout.contiguous(field.count);
    const Count low = internals::layouts::add(field.displacement_bytes, block.lower_bound());
    lower_.meet(low, datatype, datatype.marks_lower());
    upper_.meet(internals::layouts::add(low, block.extent()), datatype, datatype.marks_upper());
  }
  Layout bounded(const Layout& layout) const {
    const Count low = lower_.place();
    const Count extent = internals::layouts::add(upper_.place(), -low);
    return low == layout.lower_bound() && extent == layout.extent() ? layout : layout.resized(low, extent);
  }

 private:
  Bound lower_{std::min<Count>};
  Bound upper_{std::max<Count>};
};

Layout struct_layout(std::span<Datatype* const> types, const std::vector<Count>& lengths,
                     const std::vector<Count>& places) {
  std::vector<LayoutField> fields;
  fields.reserve(types.size());
  StructBounds bounds;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (lengths[i] == 0 || types[i]->is_void()) continue;
    fields.push_back({lengths[i], places[i], types[i]->layout()});
    bounds.add(*types[i], fields.back());
  }
  return bounds.bounded(Layout::structure(fields));
}

}  // namespace

void type_create_struct(Count count, Numbers blocklengths, Numbers displacements, std::span<Datatype* const> types,
                        Datatype*& newtype) {
  check_count(count);
  const auto fields = static_cast<std::size_t>(count);
  if (count > 0 && (blocklengths.is_null() || displacements.is_null()))
    raise(ErrorClass::arg, "an array of the struct's {} fields is null: give lengths, displacements and types", count);
  const std::vector<Count> lengths = blocklengths.list(fields);
  const std::vector<Count> places = displacements.list(fields);
  types = types.first(fields);
  for (std::size_t i = 0; i < fields; ++i) {
    existing(types[i]);
    if (lengths[i] < 0)
      raise(ErrorClass::arg, "array_of_blocklengths[{}] is {}: a block has 0 or more of the datatype", i, lengths[i]);
  }
  std::vector<Count> counts{count};
  append(counts, lengths);
  newtype = make_datatype(noted(Combiner::structure, std::move(counts), places, types),
                          [&] { return struct_layout(types, lengths, places); });
}

}  // namespace coracle::mpi
