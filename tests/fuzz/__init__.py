"""Random problems and random parameters for every public class, and the laws that must hold whatever they are."""
