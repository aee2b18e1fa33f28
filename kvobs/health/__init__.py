"""PURE. Why a panel is dark: what was seen of its queries, and the one cause that explains it."""
