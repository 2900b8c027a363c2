#include "sconce/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "sconce/base/error.h"
#include "sconce/tensor/element.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

using testing::error_of;

TEST(Tensor, IsAPointerAndThreeCacheLines) {
  EXPECT_EQ(sizeof(Tensor), sizeof(void*));
  EXPECT_EQ(sizeof(TensorImpl), 192u);
  EXPECT_EQ(sizeof(Storage), 64u);
}

TEST(Tensor, Properties) {
  const Tensor t = empty_tensor({2, 3, 4}, DType::int16);
  EXPECT_TRUE(t.defined());
  EXPECT_EQ(t.dtype(), DType::int16);
  EXPECT_EQ(t.item_size(), 2u);
  EXPECT_EQ(t.device(), Device());
  EXPECT_EQ(t.dim(), 3);
  EXPECT_EQ(t.numel(), 24);
  EXPECT_EQ(t.sizes(), IntList({2, 3, 4}));
  EXPECT_EQ(t.strides(), IntList({12, 4, 1}));
  EXPECT_EQ(t.size(-1), 4);
  EXPECT_EQ(t.stride(-3), 12);
  EXPECT_EQ(t.storage_offset(), 0);
  EXPECT_EQ(t.storage()->nbytes, 48u);
  EXPECT_TRUE(t.is_contiguous() && t.is_dense());
  EXPECT_FALSE(t.is_view() || t.requires_grad() || t.is_wrapped_number() || t.is_meta());
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
}

TEST(Tensor, ZeroDimensions) {
  const Tensor t = empty_tensor({}, DType::float32);
  EXPECT_EQ(t.numel(), 1);
  EXPECT_EQ(t.sizes().size(), 0u);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(error_of([&] { t.size(0); }), "Dimension specified as 0 but tensor has no dimensions");
  EXPECT_THROW(t.stride(-1), Error);
}

TEST(Tensor, EmptyOnes) {
  const Tensor t = empty_tensor({2, 0, 3}, DType::float32);
  EXPECT_EQ(t.numel(), 0);
  EXPECT_EQ(t.strides(), IntList({3, 3, 1}));
  EXPECT_EQ(t.storage()->nbytes, 0u);
  EXPECT_EQ(empty_tensor({kHuge, 0, 4}, DType::float32).strides(), IntList({4, 4, 1}));
  EXPECT_EQ(empty_strided_tensor({0, 3}, {100, 100}, DType::float32).storage()->nbytes, 0u);
}

TEST(Tensor, SizesThatDoNotFit) {
  EXPECT_THROW(empty_tensor({kHuge, 2}, DType::uint8), Error);
  EXPECT_THROW(empty_tensor({kHuge}, DType::float32), Error);
  EXPECT_THROW(empty_tensor({kHuge}, DType::float32, DeviceType::meta), Error);
  EXPECT_THROW(empty_tensor({0, kHuge, 4}, DType::float32), Error);
  EXPECT_THROW(empty_tensor({int64_t{1} << 50}, DType::uint8), Error);  // no such memory
  EXPECT_EQ(error_of([] { empty_tensor({2, -1}, DType::float32); }), "sizes must not be negative, got [2, -1]");
  EXPECT_THROW(empty_strided_tensor({2}, {INT64_MAX}, DType::uint8), Error);
  EXPECT_THROW(empty_strided_tensor({2}, {kHuge}, DType::float32), Error);
  EXPECT_THROW(empty_strided_tensor({3, 3}, {kHuge, kHuge}, DType::uint8), Error);
  EXPECT_THROW(empty_strided_tensor({2}, {-1}, DType::uint8), Error);
  EXPECT_THROW(empty_strided_tensor({2}, {1, 1}, DType::uint8), Error);
  EXPECT_EQ(empty_tensor({kHuge}, DType::bool_, DeviceType::meta).numel(), kHuge);
}

TEST(Tensor, ManyDimensions) {
  for (const size_t rank : {8u, 9u, 40u, 64u}) {
    std::vector<int64_t> sizes(rank, 1);
    sizes[0] = 2;
    sizes[rank - 1] = 3;
    const Tensor t = empty_tensor(sizes, DType::float32);
    EXPECT_EQ(t.dim(), static_cast<int64_t>(rank));
    EXPECT_EQ(t.sizes(), IntList(sizes));
    EXPECT_EQ(t.stride(0), 3);
    EXPECT_EQ(t.stride(-1), 1);
    EXPECT_TRUE(t.is_contiguous());
  }
  const std::vector<int64_t> too_many(65, 1);
  EXPECT_EQ(error_of([&] { empty_tensor(too_many, DType::float32); }), "a tensor has at most 64 dimensions, got 65");
  const Tensor t = empty_tensor({2}, DType::float32);
  EXPECT_THROW(set_geometry(t, too_many, too_many, 0), Error);
  EXPECT_EQ(t.sizes(), IntList({2}));  // unchanged
}

TEST(Tensor, MemoryFormats) {
  const Tensor t = empty_tensor({2, 3, 4, 5}, DType::float32, {}, MemoryFormat::channels_last);
  EXPECT_EQ(t.strides(), IntList({60, 1, 15, 3}));
  EXPECT_TRUE(t.is_contiguous(MemoryFormat::channels_last) && t.is_dense());
  EXPECT_FALSE(t.is_contiguous());
  const Tensor ambiguous = empty_tensor({2, 1, 4, 4}, DType::float32);
  EXPECT_TRUE(ambiguous.is_contiguous() && ambiguous.is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(empty_tensor({2, 3, 4, 5, 6}, DType::float32, {}, MemoryFormat::channels_last_3d)
                  .is_contiguous(MemoryFormat::channels_last_3d));
  EXPECT_THROW(empty_tensor({2, 3}, DType::float32, {}, MemoryFormat::channels_last), Error);
  EXPECT_THROW(empty_tensor({2, 3, 4, 5}, DType::float32, {}, MemoryFormat::preserve), Error);
}

TEST(Tensor, Meta) {
  const Tensor t = empty_tensor({1000, 1000, 1000, 1000}, DType::float32, DeviceType::meta);
  EXPECT_TRUE(t.is_meta());
  EXPECT_TRUE(t.keys().has(Key::meta));
  EXPECT_FALSE(t.keys().has(Key::cpu));
  EXPECT_EQ(t.storage()->nbytes, 4000000000000u);
  const Tensor view = make_view(t, {5}, {7}, 11);
  EXPECT_EQ(view.storage_offset(), 11);
  EXPECT_EQ(make_view(view, {2}, {1}, 12).storage_offset(), 12);
  EXPECT_THROW(item_of(empty_tensor({}, DType::float32, DeviceType::meta)), Error);
}

TEST(Tensor, ThereIsNoCuda) {
  EXPECT_EQ(error_of([] { empty_tensor({2}, DType::float32, DeviceType::cuda); }),
            "cannot allocate on device cuda: this build has no CUDA");
}

TEST(Tensor, ViewsAreInsideTheirStorage) {
  const Tensor base = empty_tensor({2, 3}, DType::float32);
  EXPECT_EQ(make_view(base, {3, 2}, {1, 3}, 0).strides(), IntList({1, 3}));
  EXPECT_EQ(make_view(base, {2}, {1}, 4).storage_offset(), 4);
  EXPECT_EQ(make_view(base, {100}, {0}, 5).numel(), 100);
  EXPECT_EQ(make_view(base, {0}, {1}, 100).numel(), 0);
  const std::string out = error_of([&] { make_view(base, {2, 3}, {3, 1}, 1); });
  EXPECT_NE(out.find("out of bounds for storage of size 24"), std::string::npos) << out;
  EXPECT_THROW(make_view(base, {7}, {1}, 0), Error);
  EXPECT_THROW(make_view(base, {2}, {6}, 0), Error);
  EXPECT_THROW(make_view(base, {1}, {1}, 6), Error);
  EXPECT_THROW(make_view(base, {2}, {1}, -1), Error);
  EXPECT_THROW(make_view(base, {2}, {-1}, 3), Error);
  EXPECT_THROW(make_view(base, {2}, {1, 1}, 0), Error);
  EXPECT_THROW(make_view(base, {-1}, {1}, 0), Error);
  EXPECT_THROW(make_view(base, {2}, {INT64_MAX}, 1), Error);
  EXPECT_THROW(make_view(base, {kHuge, 8}, {1, 0}, 0), Error);
  EXPECT_THROW(make_view(base, {kHuge}, {kHuge}, 0), Error);
  EXPECT_THROW(make_view(base, {1}, {1}, INT64_MAX), Error);
  EXPECT_THROW(make_view(base, {0}, {1}, INT64_MAX), Error);
  EXPECT_THROW(make_tensor(Ref<Storage>::share(base.storage()), DType::float64, {6}, {1}, 0), Error);
}

TEST(Tensor, ViewsShareStorageAndVersion) {
  Tensor base = empty_tensor({4}, DType::float32);
  const Tensor view = make_view(base, {2}, {1}, 2);
  EXPECT_TRUE(view.is_view());
  EXPECT_FALSE(base.is_view());
  EXPECT_EQ(base.storage(), view.storage());
  EXPECT_EQ(base.version(), 0u);
  view.bump_version();
  base.bump_version();
  EXPECT_EQ(base.version(), 2u);
  EXPECT_EQ(make_view(view, {1}, {1}, 2).version(), 2u);
  view.data<float>()[1] = 7;
  EXPECT_EQ(base.data<float>()[3], 7);
  base = Tensor();
  EXPECT_EQ(view.data<float>()[1], 7);  // the storage lives on
}

TEST(Tensor, AVersionOfItsOwn) {
  const Tensor t = empty_tensor({4}, DType::float32);
  const Tensor data = make_view(t, {4}, {1}, 0);  // as `.data` makes it
  data.impl()->extra = new Extra;
  data.impl()->extra->version_storage = make_storage(0, DeviceType::meta);
  t.bump_version();
  EXPECT_EQ(t.version(), 1u);
  EXPECT_EQ(data.version(), 0u);
  data.bump_version();
  data.bump_version();
  EXPECT_EQ(data.version(), 2u);
  EXPECT_EQ(make_view(data, {2}, {1}, 0).version(), 2u);  // views of it follow it
  EXPECT_EQ(t.version(), 1u);
}

TEST(Tensor, InferenceTensorsHaveNoVersion) {
  const Tensor t = empty_tensor({4}, DType::float32);
  t.impl()->meta |= TensorImpl::inference;
  EXPECT_THROW(t.version(), Error);
  EXPECT_THROW(make_view(t, {2}, {1}, 0).version(), Error);
}

TEST(Tensor, SetGeometryTakesItsOwnSizes) {
  const Tensor t = empty_tensor({2, 3}, DType::float32);
  set_geometry(t, t.sizes().slice(1, 1), t.strides().slice(1, 1), 3);
  EXPECT_EQ(t.sizes(), IntList({3}));
  EXPECT_EQ(t.strides(), IntList({1}));
  EXPECT_EQ(t.storage_offset(), 3);
  EXPECT_THROW(set_geometry(t, {4}, {1}, 3), Error);
  EXPECT_EQ(t.numel(), 3);
}

TEST(Tensor, ResizeKeepsTheFirstElements) {
  const Tensor t = empty_tensor({2, 3}, DType::float32);
  for (int i = 0; i < 6; ++i) t.data<float>()[i] = static_cast<float>(i);
  const void* before = t.data();
  resize_tensor(t, {3});
  EXPECT_EQ(t.data(), before);
  EXPECT_EQ(t.storage()->nbytes, 24u);  // never shrinks
  resize_tensor(t, {1000});
  EXPECT_EQ(t.storage()->nbytes, 4000u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(t.data<float>()[i], static_cast<float>(i));
  resize_tensor(t, {2, 3, 4, 5}, MemoryFormat::channels_last);
  EXPECT_EQ(t.strides(), IntList({60, 1, 15, 3}));
  resize_tensor(t, {0});
  EXPECT_EQ(t.numel(), 0);
  EXPECT_THROW(resize_tensor(t, {kHuge, 4}), Error);
  EXPECT_THROW(resize_tensor(t, {kHuge}), Error);
  EXPECT_THROW(resize_tensor(t, {-1}), Error);
}

TEST(Tensor, AllSeeTheMemoryOfTheirStorage) {
  for (const int64_t n : {4, 1000}) {  // inside the header, and in a block of its own
    const Tensor t = empty_tensor({n}, DType::int64);
    for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = i;
    const Tensor view = make_view(t, {2}, {1}, 1), same = shallow_copy(t), end = make_view(t, {0}, {1}, n);
    const Tensor late = make_view(view, {1}, {1}, 2);  // looked at only after the last move
    for (int64_t size = 2 * n; size < 64 * n; size *= 2) {
      resize_tensor(t, {size});
      std::memset(t.data<int64_t>() + n, 0xff, static_cast<size_t>(size - n) * 8);
      const Tensor other = empty_tensor({n}, DType::int64);  // would take memory that was freed too early
      std::memset(other.data(), 0xee, static_cast<size_t>(n) * 8);
      t.data<int64_t>()[1] = size;
      EXPECT_EQ(view.data<int64_t>()[0], size);
      EXPECT_EQ(view.storage_offset(), 1);
      EXPECT_EQ(same.data(), t.data());
      EXPECT_EQ(shallow_copy(view).data(), view.data());
      view.data<int64_t>()[1] = -size;
      EXPECT_EQ(t.data<int64_t>()[2], -size);
    }
    EXPECT_EQ(late.data(), t.data<int64_t>() + 2);
    EXPECT_EQ(late.storage_offset(), 2);
    EXPECT_EQ(make_view(late, {1}, {1}, 3).data<int64_t>()[0], 3);
    EXPECT_EQ(end.storage_offset(), n);
    // Moved through a view.
    resize_tensor(view, {100 * n});
    EXPECT_EQ(t.data<int64_t>() + 1, view.data());
    EXPECT_EQ(t.data<int64_t>()[3], 3);
  }
}

TEST(Tensor, ForeignMemory) {
  int deleted = 0;
  float numbers[4] = {1, 2, 3, 4};
  Tensor view;
  {
    const auto deleter = [](void* count) noexcept { ++*static_cast<int*>(count); };
    const Tensor t =
        make_tensor(wrap_storage(numbers, sizeof numbers, deleter, &deleted), DType::float32, {2, 2}, {2, 1}, 0);
    EXPECT_EQ(t.data(), numbers);
    view = make_view(t, {2}, {1}, 2);
    EXPECT_THROW(resize_tensor(t, {5}), Error);
    resize_tensor(t, {3});
  }
  EXPECT_EQ(view.data<float>()[0], 3);
  EXPECT_EQ(deleted, 0);
  view = Tensor();
  EXPECT_EQ(deleted, 1);
  wrap_storage(numbers, sizeof numbers, nullptr, nullptr);  // without a deleter
}

TEST(Tensor, ScalarsAndItems) {
  EXPECT_EQ(item_of(scalar_tensor_of(Scalar(2.5), DType::float16)).to_double(), 2.5);
  EXPECT_EQ(item_of(scalar_tensor_of(Scalar(true), DType::int8)).to_int(), 1);
  EXPECT_EQ(item_of(make_view(scalar_tensor_of(Scalar(3), DType::int64), {1, 1}, {1, 1}, 0)).to_int(), 3);
  EXPECT_THROW(item_of(empty_tensor({2}, DType::float32)), Error);
  EXPECT_THROW(item_of(empty_tensor({0}, DType::float32)), Error);
  EXPECT_EQ(wrapped_number(Scalar(1)).dtype(), DType::int64);
  EXPECT_EQ(wrapped_number(Scalar(1.5)).dtype(), DType::float64);
  EXPECT_EQ(wrapped_number(Scalar(true)).dtype(), DType::bool_);
  EXPECT_EQ(wrapped_number(Scalar(std::complex<double>(0, 1))).dtype(), DType::complex128);
  EXPECT_TRUE(wrapped_number(Scalar(1)).is_wrapped_number());
}

TEST(Tensor, HandlesCountAcrossThreads) {
  const Tensor t = empty_tensor({100}, DType::float32);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([t] {
      for (int k = 0; k < 2000; ++k) {
        Tensor copy = t;
        const Tensor view = make_view(copy, {10}, {2}, k % 80);
        copy = view;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(t.impl()->count.unique());
  EXPECT_TRUE(t.storage()->count.unique());
}

}  // namespace
}  // namespace sconce
