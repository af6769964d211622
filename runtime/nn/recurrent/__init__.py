"""Recurrent layers: cells, what runs a cell over time, and networks of several layers and directions."""

from __future__ import annotations

from runtime.nn.recurrent.cells import GRUCell, LSTMCell, RNNCellBase, SimpleRNNCell
from runtime.nn.recurrent.networks import GRU, LSTM, SimpleRNN
from runtime.nn.recurrent.over_time import RNN, BiRNN

__all__ = ["GRU", "LSTM", "RNN", "BiRNN", "GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNN", "SimpleRNNCell"]
