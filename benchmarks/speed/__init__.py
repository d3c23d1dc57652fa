"""Times us against peers: ratios of two things measured in one run, never absolute claims."""
