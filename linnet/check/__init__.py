"""Names, types, generics and proofs: trees in, typed trees and diagnostics out."""
