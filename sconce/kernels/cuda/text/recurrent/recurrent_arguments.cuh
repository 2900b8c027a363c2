// The argument of a step of a recurrent layer, on both sides. Rows of gates have `gates` times `hidden` elements.
struct RecurrentArguments {
  void* gates;        // of the input, then activated; the gradient reads them
  const void* state;  // what the states before add to them
  void* kept;         // lstm: cell states; gru: the state's part of the candidate
  void* cells;        // lstm: the running cell state, or its gradient
  void* running;      // the running state, or its gradient
  void* out;          // of the step
  const void* before;    // gradient: the cell (lstm) or state (gru) before
  const void* grad_out;  // gradient: of the step's output, or null
  void *of_input, *of_state;  // gradients of the gates' two parts; only the gru's differ
  i64 rows, hidden;
};
