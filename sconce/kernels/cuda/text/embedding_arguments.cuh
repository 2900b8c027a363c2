// Rows of a table: TX threads copy a row, packs of 16 bytes (Word) where rows are made of them.
struct EmbeddingArguments {
  void* out;
  const void* table;
  const void* index;
  i64 count, rows, words;  // words of a row
  void* word;
  int number;
};
