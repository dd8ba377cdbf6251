// Package statistics says how reliable the results of a few simulations are. It has confidence
// intervals of means and of paired differences, and bands of distribution functions.
//
// # Terminology
//
// A value is a measurement of one independent run, such as the mean waiting time of its Jobs. The
// values of different seeds are independent; the values of the Jobs of one run are not. An
// [Interval] of level 0.95 contains the true mean in 95 of 100 sweeps. A paired difference compares
// two variants seed by seed: both get the same random numbers (common random numbers), so that the
// common part of a seed cancels out.
//
// # Usage
//
//	fifo, gang := []float64{298, 310, 305}, []float64{291, 300, 299} // seeds 1, 2, 3
//	fmt.Println(statistics.Mean(0.95, fifo...))
//	difference, err := statistics.Difference(0.95, fifo, gang)
//
// # Method
//
// [Mean] is mean ± t · s/√n, with the unbiased standard deviation s and the quantile t of Student's
// distribution with n-1 degrees of freedom. It is exact for normally distributed values, and good
// for means of many objects, which are nearly normal. [Difference] does the same with the
// differences (the paired t-test). [Band] is the band of Dvoretzky, Kiefer and Wolfowitz with the
// constant of Massart; it is valid for any distribution and number of values. Quantiles of
// Student's distribution are computed by bisection of the incomplete beta function, to about twelve
// digits.
//
// # Concurrency
//
// All functions are pure, and an Interval is a value.
package statistics
