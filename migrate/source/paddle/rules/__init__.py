"""What the Paddle frontend reports; its conversion is one piece of work, so that these rules only name its parts."""
