"""What commands and notebooks do: plan, measure, gate, prove, read a result, explain it."""
