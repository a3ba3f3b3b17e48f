"""The scikit-learn estimators: parameters, validation and labels around trees and forests."""
