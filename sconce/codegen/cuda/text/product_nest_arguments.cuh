// The arguments of kernels of products with what follows them, on both sides. Buffer 0 of the tail is the product.
struct ProductNestArguments {
  NarrowProduct p;
  void* data[12];
  i64 stride[12][2];  // of rows and columns
  Number numbers[32];
};
// Of chains: addresses in the order of codegen::DeviceMaker::make_products; all else stands in the text.
struct ChainArguments {
  void* data[480];
};
// Of a product that makes its factor itself.
struct HeadedProductArguments {
  ProductNestArguments product;
  RowNestArguments head;
};
