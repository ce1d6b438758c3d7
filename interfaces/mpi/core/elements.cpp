// How many values of a datatype, or of basic types, a number of bytes is; what statuses say of it. By the signature, a
// level of the datatype at a time: never by going through its repetitions.
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

/// The two measures of what comes first in the packed order.
struct Bytes {
  static Count of(const Datatype& datatype) noexcept { return datatype.size(); }
  static Count of(Basic part) noexcept { return static_cast<Count>(bytes_of(part)); }
};
struct Elements {
  static Count of(const Datatype& datatype) noexcept { return datatype.basic_values(); }
  static Count of(Basic part) noexcept { return part == Basic::none ? 0 : 1; }
};

/// So much as `given` is in one measure, in the other.
template <class From, class To>
class Conversion {
 public:
  explicit Conversion(Count given) noexcept : left_(given) {}

  /// Of any number of `datatype`; kUndefined where it ends within a basic value.
  Count run(const Datatype& datatype) {
    const Datatype* at = &datatype;
    while (left_ > 0) {
      if (From::of(*at) == 0) return kUndefined;
      take(From::of(*at), To::of(*at), left_ / From::of(*at));
      if (left_ == 0) break;
      if (at->parts() == 0) return run_value(at->form());
      at = skip_parts(*at);
    }
    return found_;
  }

 private:
  void take(Count from, Count to, Count times) {
    left_ -= from * times;
    Count more = 0;
    if (__builtin_mul_overflow(to, times, &more) || __builtin_add_overflow(found_, more, &found_))
      raise(ErrorClass::arg, "so many elements are 2^63 bytes or more");
  }
  /// To the part that is not whole any more.
  const Datatype* skip_parts(const Datatype& datatype) {
    for (std::size_t i = 0;; ++i) {
      const auto [part, count] = datatype.part(i);
      if (left_ < count * From::of(*part)) return part;
      take(From::of(*part), To::of(*part), count);
    }
  }
  /// Within one value of a predefined datatype.
  Count run_value(const PredefinedForm& form) {
    for (Count i = 0; i < form.count; ++i)
      for (const Basic part : parts_of(form.basic)) {
        if (left_ == 0) return found_;
        if (left_ < From::of(part)) return kUndefined;
        take(From::of(part), To::of(part), 1);
      }
    return found_;
  }

  Count left_;
  Count found_ = 0;
};

}  // namespace

void get_count(const Status& status, Datatype* datatype, Count& count) {
  const Count size = existing(datatype).size();
  if (size == 0)
    count = status.bytes == 0 ? 0 : kUndefined;
  else
    count = status.bytes % size == 0 ? status.bytes / size : kUndefined;
}

void get_elements(const Status& status, Datatype* datatype, Count& count) {
  count = Conversion<Bytes, Elements>(status.bytes).run(existing(datatype));
}

void status_set_elements(Status& status, Datatype* datatype, Count count) {
  check_count(count);
  const Count bytes = Conversion<Elements, Bytes>(count).run(existing(datatype));
  if (bytes == kUndefined) raise(ErrorClass::arg, "count is {}, but the datatype has no bytes", count);
  status.bytes = bytes;
}

void status_set_cancelled(Status& status, bool flag) {
  status.cancelled = flag;
}

void test_cancelled(const Status& status, bool& flag) {
  flag = status.cancelled;
}

}  // namespace coracle::mpi
