#include "sconce/lite/new_values.h"

namespace sconce::lite {

Value new_list(TypePtr element) { return make_ref<List>(element); }
Value new_dict(TypePtr key, TypePtr value) { return make_ref<Dict>(key, value); }
Value new_tuple(size_t count, TypePtr named) { return make_ref<Tuple>(std::vector<Value>(count), named); }

}  // namespace sconce::lite
