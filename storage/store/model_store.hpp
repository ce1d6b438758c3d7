// A PageStore in memory that takes the time of a modelled SSD, for simulations at a scale that no machine here has.
#pragma once

#include <memory>

#include "storage/options/paged_options.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class EventLoop;
}

namespace coracle::internals::storage {

/// Memory is taken for pages that are written. Its checkpoints end with it.
std::unique_ptr<PageStore> make_model_store(EventLoop& loop, const SsdModel& model, const StoreShape& shape);

}  // namespace coracle::internals::storage
