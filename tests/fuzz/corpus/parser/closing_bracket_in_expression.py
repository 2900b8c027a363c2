)
 a